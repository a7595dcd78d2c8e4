#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# Owns the proof, without a guest, that paths.awk counts what a hold took and that matrix.sh reports what its guests did.
# It must not know any kernel.

# shellcheck disable=SC2154,SC2317 # bats sets status and output, and calls tests
bats_require_minimum_version 1.5.0

setup() { vm=$BATS_TEST_DIRNAME; }

drained() { echo "  pages-1 [000] d..1. 1.0: mm_page_pcpu_drain: page=00000000 pfn=0x1 order=$1 migratetype=1"; }
allocated() {
    echo "  pages-1 [000] d..1. 1.0: mm_page_alloc_zone_locked: page=00000000 pfn=0x1 order=$1 migratetype=1 cpu=0 percpu_refill=1"
}
unlocked() { echo '  pages-1 [000] d..1. 1.0: unlock_irqrestore: (_raw_spin_unlock_irqrestore+0x0/0x40) lock=0x1'; }

@test "paths.awk: a hold's entries and pages are counted by its largest order, and a hold that ends in the dark counts" {
    run awk -f "$vm/paths.awk" < <(
        drained 0; drained 3; unlocked
        drained 0; drained 0; drained 0; unlocked
        unlocked
        allocated 9; allocated 9; unlocked
        allocated 0; unlocked
        allocated 0; allocated 0
    )
    [ "$status" -eq 0 ]
    [ "$(sort <<<"$output")" = "alloc 0 2 2 2
alloc 9 2 1024 1
free 0 3 3 1
free 3 2 9 1" ]
}

# A tree in which kernels are built and guests are run by scripts that only pretend to.
pretend() { # WHAT-THE-GUEST-DOES
    tree=$BATS_TEST_TMPDIR/tree
    mkdir -p "$tree"/{kernel/bases,tests/vm,tests/lib,built}
    cp "$vm/matrix.sh" "$tree/tests/vm/"
    cp "$vm/../lib/tap.sh" "$tree/tests/lib/"
    touch "$tree/kernel/bases/one" "$tree/built/vmlinuz"
    echo 1.2.3 >"$tree/built/release"
    printf '#!/bin/bash\necho %q\n' "$tree/built" >"$tree/kernel/build.sh"
    # shellcheck disable=SC2016 # for the script
    printf '#!/bin/bash\necho "$@" >>%q\n%s\n' "$tree/guests" "$1" >"$tree/tests/vm/run"
    chmod +x "$tree/kernel/build.sh" "$tree/tests/vm/run"
}

matrix() { KPCP_BUILD=$tree/build run -"$1" "$tree/tests/vm/matrix.sh" "${@:2}"; }

@test "paths.awk: the first hold has an order, too" {
    run awk -f "$vm/paths.awk" < <(drained 0; unlocked)
    [ "$output" = "free 0 1 1 1" ]
}

@test "matrix.sh: every test of a base is run and is in the table" {
    pretend 'exit 0'
    KPCP_SCALES='0 5' matrix 0 one
    [[ $output == *'1..4'* && $output != *'not ok'* ]]
    [[ ${lines[-2]} =~ ^'# one '.*(' ok '[0-9]+s.*){4}$ ]]
    grep -q -- '-- tests/vm/boot.sh 1.2.3$' "$tree/guests"
    grep -q -- '-- tests/vm/paths.sh 0 5$' "$tree/guests"
}

@test "matrix.sh: a guest that fails fails its test, and the others are run" {
    # shellcheck disable=SC2016 # for the script
    pretend '[[ $* != *sysctl* ]]'
    matrix 1 one
    [[ $output == *'not ok 3 - one: vm.pcp_batch_scale_max'* && $output == *'ok 4 - one: '* ]]
    [[ ${lines[-2]} == *' FAILED '* ]]
}

@test "matrix.sh: a kernel that does not boot is asked nothing more" {
    pretend 'exit 1'
    matrix 1 one
    [ "$(wc -l <"$tree/guests")" -eq 1 ]
    [[ ${lines[-2]} == *'FAILED'*'not run'*'not run'* ]]
}

@test "matrix.sh: an unknown base, no base, and a scale that is none are told" {
    pretend 'exit 0'
    matrix 1 two
    [[ $output == *"no base 'two'"*'one'* ]]
    matrix 1
    [[ $output == *'at least one base'* ]]
    KPCP_SCALES=7 matrix 1 one
    [[ $output == *"'7'"* ]]
    [ ! -e "$tree/guests" ]
}
