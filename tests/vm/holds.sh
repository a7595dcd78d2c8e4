#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Owns the proof that vm.pcp_batch_scale_max bounds how many list entries a storm of order-0 pages frees in one hold of
# zone->lock. It must not know how holds are seen.
# usage, in a guest: holds.sh [S...], default 5 0

set -euo pipefail

. tests/vm/trace.sh

check_holds() { # S BOUND
    traced "storm at S=$1" storm "$fill" 0-1
    echo "## holds: S=$1 largest $largest of at most $2 (batch $batch), $entries entries"
    ((largest <= $2)) || fail "S=$1: $largest list entries were freed in one hold of zone->lock, more than $2"
    [[ $1 == 0 ]] || ((largest > batch)) ||
        fail "S=$1: no hold was longer than one batch ($batch), so the storm did not exercise the scale"
}

(($#)) || set -- 5 0
trace_begin
for s in "$@"; do
    set_scale "$s"
    check_holds "$s" "$((batch << s))"
done
