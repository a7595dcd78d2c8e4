#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The fleet suite: two virtual hosts, a controller and a signed repository go through rollouts by health alone (two hosts
# are too few to judge): a kernel that ends as both hosts' default, a package that is not the approved one, a preset that
# is set, taken back and kept.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
. tests/lib/tap.sh
. tests/lib/step.sh
. tests/lib/kernels.sh

BUILD=${KPCP_BUILD:-$PWD/build}
FLEET=$BUILD/fleet-suite
. tests/fleet/lib.sh
rm -rf "$FLEET"
mkdir -p "$FLEET/log" "$FLEET/plans"
stock=$(kernel_build stock)
kpcp=$(kernel_build kpcp)
HOSTS=(lab-1 lab-2)

# plan NAME < SECTIONS : both hosts, one canary, by health
plan() {
    {
        printf '[rollout]\nname = %s\nclusters = lab\nevidence = health\norder-timeout = 20min\n' "$1"
        cat
        printf '[judge]\ncanaries = 1\ncontrols = 0\n[waves]\npercent = 100\nsoak = 5s\nbudget = 1\n'
    } >"$FLEET/plans/$1.plan"
}

on() { tests/fleet/host exec "$FLEET/hosts/$1" --timeout 180 -- "${@:2}"; }

start_fleet() {
    local h base
    fleet_packages "$FLEET/packages" >"$FLEET/log/packages.log" 2>&1
    base=$(tests/fleet/image.sh --out-name-key fleet --kernel-deb "$stock"/linux-image-*.deb "$FLEET"/packages/kpcp-{agent,canary}_*.deb |
        tail -n 1)
    fleet_init "$stock"/linux-image-*.deb "$kpcp"/linux-image-*.deb
    for h in "${HOSTS[@]}"; do host_start "$h" lab "$base"; done
    hosts_up 2 600
}

unprivileged() {
    local pid
    pid=$(on lab-1 pgrep -u kpcp-agent -x kpcp-agent)
    on lab-1 grep -E '^(Uid|Gid|Groups|Cap|NoNewPrivs)' "/proc/$pid/status" | tee "$FLEET/log/talker.txt"
    grep -q '^NoNewPrivs:.*1' "$FLEET/log/talker.txt"
    [ "$(grep -c '^Cap[A-Za-z]*:.*0000000000000000' "$FLEET/log/talker.txt")" -eq 5 ]
    ! grep -q '^Uid:.*\<0\>' "$FLEET/log/talker.txt"
}

kernel_everywhere() {
    local h release
    release=$(<"$kpcp/release")
    "$BUILD/rollout/kpcp" kernel "$kpcp"/linux-image-*.deb | plan good-kernel
    rollout good-kernel 0 40min
    for h in "${HOSTS[@]}"; do
        [ "$(on "$h" uname -r)" = "$release" ] || return 1
        on "$h" grub-editenv list | grep -q "^saved_entry=.*$release" || return 1
    done
}

wrong_package() {
    local before
    before=$(on lab-1 cat /proc/sys/kernel/random/boot_id)
    "$BUILD/rollout/kpcp" kernel "$stock"/linux-image-*.deb | sed 's/^sha256 = ..../sha256 = 0000/' | plan wrong-package
    rollout wrong-package 2 20min
    [ "$(on lab-1 cat /proc/sys/kernel/random/boot_id)" = "$before" ]
    KPCP history --limit 200 | grep -i sha
}

preset_kept() {
    local h
    "$BUILD/rollout/kpcp" preset sysctl.d/latency.conf | plan latency
    rollout latency 0 20min
    for h in "${HOSTS[@]}"; do
        [ "$(on "$h" cat /proc/sys/vm/pcp_batch_scale_max)" = "$(sed -n 's/^vm.pcp_batch_scale_max *= *//p' sysctl.d/latency.conf)" ] ||
            return 1
    done
}

preset_refused() {
    local h
    printf '[preset]\nname = refused\nsettings = vm.pcp_batch_scale_max=3, vm.percpu_pagelist_high_fraction=-1\n' | plan refused
    rollout refused 2 20min
    for h in "${HOSTS[@]}"; do
        [ "$(on "$h" cat /proc/sys/vm/pcp_batch_scale_max)" = "$(sed -n 's/^vm.pcp_batch_scale_max *= *//p' sysctl.d/latency.conf)" ] ||
            return 1
    done
}

trap fleet_stop EXIT
tap "two hosts boot from disk, enrol and report" start_fleet
tap "the process that talks has no user but its own, no capability and no way to new ones" unprivileged
tap "a kernel goes over both hosts and becomes their default" kernel_everywhere
tap "a package that is not the approved one is not installed, and no host reboots" wrong_package
tap "a preset is set in place and kept" preset_kept
tap "a preset that the kernel refuses in part is taken back whole" preset_refused
tap_end
