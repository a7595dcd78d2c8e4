# SPDX-License-Identifier: Apache-2.0
#
# What kpcp-canary explain promises: numbers of the published host, a machine read from files, settings that would change
# nothing refused.
# shellcheck shell=bash disable=SC2154
bats_require_minimum_version 1.5.0

setup() {
    load canary.sh
    PUBLISHED=$BATS_TEST_DIRNAME/../fuzz/corpus/zoneinfo/published-256cpu
    cd "$BATS_TEST_TMPDIR" || return 1
}

published() { run --separate-stderr "$CANARY" explain --zoneinfo "$PUBLISHED" --cpus 256 "$@"; }

@test "the published host at a scale of 5 and of 0" {
    published --kernel 6.1-kpcp
    [ "$status" -eq 0 ]
    [[ $output =~ "high             6392 " ]]
    [[ $output =~ "drain            2016 " ]]
    published --kernel 6.1-kpcp --set vm.pcp_batch_scale_max=0
    [ "$status" -eq 0 ]
    [[ $output =~ "drain              63 " ]]
    absent -q 2016 <<<"$output"
}

@test "on a stock 7.x free_high never fires there" {
    published --kernel 7.x --json
    [ "$status" -eq 0 ]
    [ "$(python3 -c 'import json, sys; z = json.load(sys.stdin)["zones"][0]; print(z["high_max"], z["free_high"])' \
        <<<"$output")" = "142565 never" ]
}

@test "a machine below a folder, with more CPUs on the machine than on the node" {
    mkdir -p root/proc/sys/kernel root/proc/sys/vm root/sys/devices/system/node/node0
    cp "$PUBLISHED" root/proc/zoneinfo
    echo 6.1.0-28-amd64 >root/proc/sys/kernel/osrelease
    echo 0 >root/proc/sys/vm/percpu_pagelist_high_fraction
    echo 0-255 >root/sys/devices/system/node/node0/cpulist
    run --separate-stderr "$CANARY" explain --sysroot root
    [ "$status" -eq 0 ]
    [[ $output == *"kernel 6.1, batch scale 5 (configured, no sysctl)"* ]]
    [[ $output =~ "high             6392 " ]]
    echo 2 >root/proc/sys/vm/pcp_batch_scale_max
    run --separate-stderr "$CANARY" explain --sysroot root
    [[ $output == *"kernel 6.1-kpcp, batch scale 2"* ]]
    [[ $output =~ "drain             252 " ]]
}

@test "what the kernel would not do is refused" {
    published --kernel 6.1 --set vm.pcp_batch_scale_max=0
    refused "kernel 6.1 has no vm.pcp_batch_scale_max"
    published --kernel 6.12 --set vm.percpu_pagelist_high_fraction=-1
    refused "refuses -1"
    published --kernel 6.1-kpcp --set vm.pcp_batch_scale_max=7
    refused "vm.pcp_batch_scale_max" "7"
    published --kernel 6.1-kpcp --set vm.pcp_batch_scale_mx=1
    refused "did you mean vm.pcp_batch_scale_max?"
    published --kernel 6.8
    refused "there is no model named"
    published
    refused "--kernel"
}
