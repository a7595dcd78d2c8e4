#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The kernel suite: the series applies with zero fuzz, and the three guest kernels build and are packaged.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
. tests/lib/tap.sh
. tests/lib/kernels.sh

builds() {
    local dir
    dir=$(kernel_build "$1") && ls "$dir"/*.deb "$dir/vmlinuz" >/dev/null && echo "## $1: $(cat "$dir/release")"
}
distinct() {
    local v releases
    releases=$(for v in stock kpcp slow; do cat "$(kernel_build $v)/release"; done)
    [ "$(sort -u <<<"$releases" | wc -l)" -eq 3 ] || { echo "$releases"; return 1; }
}

tap "every series applies to its newest source with zero fuzz" kernel/build.sh check
for variant in stock kpcp slow; do
    tap "the $variant guest kernel is built and packaged" builds $variant
done
tap "no two kernels share a uname" distinct
tap_end
