#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Owns the proof that free_high lives at every vm.pcp_batch_scale_max, and that what it frees in one hold is bounded as
# well: datagrams of 60 KiB are allocated on one CPU and freed on another. It must not know how holds are seen.
# usage, in a guest: free_high.sh [S...], default 5 0; or free_high.sh stock, for the unpatched kernel, which must break
# the bound, or the test could not see it broken

set -euo pipefail

. tests/vm/trace.sh

check_free_high() { # S BOUND
    traced "datagrams at S=$1" datagrams 1000 "$fill" 0 1
    echo "## free_high: S=$1 fired $free_high times, largest hold $largest_high of at most $2, $entries entries"
    ((free_high > 0)) || fail "S=$1: free_high fired 0 times under datagrams from one CPU to another"
    if [[ $1 == stock ]]; then
        ((largest_high > $2)) || fail "no free_high of $(uname -r) went over $2: this test would not see one, or it is patched"
        return
    fi
    ((largest <= $2)) || fail "S=$1: $largest list entries were freed in one hold under datagrams, more than $2"
    [[ $1 == 0 ]] || ((largest_high > batch)) ||
        fail "S=$1: no hold of free_high was longer than one batch ($batch), so the bound was not exercised"
}

(($#)) || set -- 5 0
trace_begin
counts=''
for s in "$@"; do
    scale_used=$s
    if [[ $s == stock ]]; then scale_used=5; else set_scale "$s"; fi
    check_free_high "$s" "$((batch << scale_used))"
    counts+="${counts:+, }S=$s $free_high"
done
echo "## free_high: $counts"
