#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The vm suite: the kernels boot and do what the series promises, in guests; the harness notices every kind of failure.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
. tests/lib/tap.sh
. tests/lib/kernels.sh

out=${KPCP_BUILD:-$PWD/build}/vm-suite
rm -rf "$out"
mkdir -p "$out"
declare -A kernel
for v in stock kpcp slow; do kernel[$v]=$(kernel_build $v); done

# guest NAME VARIANT SCRIPT ARGS... : runs the script in a guest; what it prints with "## " in front is shown
guest() {
    local name=$1 v=$2
    shift 2
    tests/vm/run --kernel "${kernel[$v]}/vmlinuz" --out "$out/$name" --name "$name" --timeout 900 -- "$@"
}

for v in stock kpcp slow; do
    tap "the $v kernel boots and is the one that was built" guest "boot-$v" $v tests/vm/boot.sh "$(<"${kernel[$v]}/release")"
done
tap "the unpatched kernel has no vm.pcp_batch_scale_max" guest sysctl-stock stock tests/vm/sysctl.sh absent
tap "vm.pcp_batch_scale_max takes 0 to 6 and nothing else" guest sysctl-kpcp kpcp tests/vm/sysctl.sh present
tap "no hold frees more list entries than batch << S" guest holds kpcp tests/vm/holds.sh
tap "the unpatched kernel breaks that bound, so that a test can see it" guest free-high-stock stock tests/vm/free_high.sh stock
tap "free_high fires at S=5 and at S=0, within the bound" guest free-high kpcp tests/vm/free_high.sh
status=0
tap_end || status=1
KPCP_GUEST_KERNEL=${kernel[kpcp]}/vmlinuz bats --tap tests/vm || status=1
exit $status
