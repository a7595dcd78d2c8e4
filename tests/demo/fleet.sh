#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Owns the demo's second half: six virtual hosts in two clusters take kernels and presets in four rollouts, two of which
# are taken back. It must not know how hosts run, how rollouts are decided or how kernels are built.
#
#   a  the patched kernel on all hosts                                   -> DONE
#   b  the preset "latency" on the cluster east, in place                -> DONE, without a reboot
#      and, as east was judged, on the cluster west by health alone: canaries and controls of c have to be alike
#   c  a preset that hurts on the cluster east                           -> ROLLED_BACK, without a reboot
#   d  a kernel with a latency fault                                     -> ROLLED_BACK, every host as it was before
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
. tests/lib/step.sh
. tests/lib/kernels.sh

usage() {
    cat <<'END'
usage: tests/demo/fleet.sh [--short] [--only LETTERS] [--chaos SEED] [--out DIR]

  --short         only a and d, with fewer storms
  --only LETTERS  these rollouts, in this order, for example "ad"
  --chaos SEED    meanwhile, kill agents ten times and the controller five times at random moments
  --out DIR       default: build/demo/fleet
END
}

BUILD=${KPCP_BUILD:-$PWD/build}
FLEET=$BUILD/demo/fleet
letters=abcd
storms=20
chaos=
while [ $# -gt 0 ]; do
    case "$1" in
    --short) letters=ad storms=15 ;;
    --only) letters=${2:?--only needs letters} && shift ;;
    --chaos) chaos=${2:?--chaos needs a seed} && shift ;;
    --out) FLEET=${2:?--out needs a folder} && shift ;;
    -h | --help) usage; exit 0 ;;
    *) known option "$1" --short --only --chaos --out --help ;;
    esac
    shift
done
[[ $letters =~ ^[abcd]+$ ]] || die "--only takes letters of a, b, c and d, not '$letters'"
. tests/fleet/lib.sh

EAST=(east-1 east-2 east-3)
WEST=(west-1 west-2 west-3)
phases=()
phase() { phases+=("$(printf '%-52s %s' "$1" "$(elapsed "$2")")"); }

declare -A deb dir
kernels() {
    local v
    for v in stock kpcp slow; do
        step "kernel: build and package the $v one" "$FLEET/log/kernel-$v.log" kernel_build "$v"
        dir[$v]=$(kernel_build "$v" 2>>"$FLEET/log/kernel-$v.log")
        deb[$v]=$(echo "${dir[$v]}"/linux-image-*.deb)
    done
}

# How each boot is measured and by what it is judged: looser than the first half's plan, because six hosts on two cores
# have fewer storms. Three against three is the least whose second opinion can reach p .05.
evidence() {
    cat <<END
[canaries]
from = east
controls-from = west

[judge]
canaries = 3
controls = 3
boots = 1
storms = $storms
endpoints = p99, exit
min-samples-exit = $storms
margin-p99 = 30%
margin-exit = 25%

[measure]
warmup = 2
storm = 2x32M
storm-cpus = 0-1
victim-cpus = 2-3
burst = 128
period = 20ms
window = 1700ms

[waves]
percent = 100
soak = 30s
budget = 3
END
}

# What a cluster that follows is held against: one host first, then the others, nothing measured.
by_health() {
    cat <<END
[judge]
canaries = 1

[waves]
percent = 100
soak = 30s
budget = 3
END
}

# plan NAME CLUSTERS EVIDENCE SECTION-COMMAND... : writes FLEET/plans/NAME.plan; EVIDENCE is measured or health
plan() {
    mkdir -p "$FLEET/plans"
    {
        printf '# SPDX-License-Identifier: Apache-2.0\n[rollout]\nname = %s\nclusters = %s\nevidence = %s\n' "$1" "$2" "$3"
        printf 'deadline = 2h\norder-timeout = 30min\n\n'
        "${@:4}"
        echo
        if [ "$3" = measured ]; then evidence; else by_health; fi
    } >"$FLEET/plans/$1.plan"
}

# run LETTER NAME WANT : one rollout with its time, the boot loaders' state before and after
run() {
    local begin=$SECONDS
    printf '\n======== %s: rollout %s ========\n' "$1" "$2"
    default_entries "$FLEET/log/$1-before.txt"
    rollout "$2" "$3" 90min
    default_entries "$FLEET/log/$1-after.txt"
    KPCP table "$2" | tee "$FLEET/log/$1-table.txt"
    KPCP status "$2" --json >"$FLEET/log/$1.json"
    [ "$3" -ne 2 ] || tests/demo/way_back.py "$FLEET/log/$1.json"
    phase "$1: $2" $((SECONDS - begin))
}

# boots FILE : every host's boot id
boots() {
    local h
    for h in "${EAST[@]}" "${WEST[@]}"; do
        echo "$h $(tests/fleet/host exec "$FLEET/hosts/$h" --timeout 120 -- cat /proc/sys/kernel/random/boot_id)"
    done >"$1"
}

# in_place LETTER NAME WANT : as run, and no host may have rebooted
in_place() {
    boots "$FLEET/log/$1-boots-before.txt"
    run "$@"
    boots "$FLEET/log/$1-boots-after.txt"
    cmp -s "$FLEET/log/$1-boots-before.txt" "$FLEET/log/$1-boots-after.txt" ||
        die "a host rebooted during the rollout of a preset: compare $FLEET/log/$1-boots-*.txt"
    echo "no host rebooted"
}

rm -rf "$FLEET"
mkdir -p "$FLEET/log"
started=$SECONDS
kernels
begin=$SECONDS
step "packages: kpcp-agent and the others" "$FLEET/log/packages.log" fleet_packages "$FLEET/packages"
# The presets need a kernel that has the sysctl: without the rollout of one before them, hosts begin with it.
first=stock
[[ $letters != [bc]* ]] || first=kpcp
image() { tests/fleet/image.sh --out-name-key fleet --kernel-deb "${deb[$first]}" "$FLEET"/packages/kpcp-{agent,canary}_*.deb; }
step "image: a Debian root with the $first kernel" "$FLEET/log/image.log" image
base=$(image 2>>"$FLEET/log/image.log" | tail -n 1)
phase "packages and disk image" $((SECONDS - begin))
begin=$SECONDS
trap fleet_stop EXIT
fleet_init "${deb[stock]}" "${deb[kpcp]}" "${deb[slow]}"
for h in "${EAST[@]}"; do host_start "$h" east "$base"; done
for h in "${WEST[@]}"; do host_start "$h" west "$base"; done
step "hosts: six boot from disk and enrol" "$FLEET/log/hosts.log" hosts_up 6 900
phase "six hosts boot and enrol" $((SECONDS - begin))
KPCP hosts

if [ -n "$chaos" ]; then
    tests/fleet/chaos.sh "$FLEET" "$chaos" 10 5 900 >"$FLEET/log/chaos.log" 2>&1 &
    echo $! >"$FLEET/chaos.pid"
fi
while read -rn1 letter && [ -n "$letter" ]; do
    case "$letter" in
    a)
        plan good-kernel "east west" measured "$BUILD/rollout/kpcp" kernel "${deb[kpcp]}"
        run a good-kernel 0
        ;;
    b)
        plan latency-preset east measured "$BUILD/rollout/kpcp" preset sysctl.d/latency.conf
        in_place b latency-preset 0
        plan latency-west west health "$BUILD/rollout/kpcp" preset sysctl.d/latency.conf
        in_place b-west latency-west 0
        ;;
    c)
        plan hurting-preset east measured "$BUILD/rollout/kpcp" preset tests/data/hurting.conf
        in_place c hurting-preset 2
        ;;
    d)
        plan slow-kernel "east west" measured "$BUILD/rollout/kpcp" kernel "${deb[slow]}"
        run d slow-kernel 2
        cmp "$FLEET/log/d-before.txt" "$FLEET/log/d-after.txt" ||
            die "default entries differ after the way back: compare $FLEET/log/d-before.txt and d-after.txt"
        echo "default entries are as before:"
        cat "$FLEET/log/d-after.txt"
        ;;
    esac
done <<<"$letters"

if [ -n "$chaos" ]; then
    wait "$(<"$FLEET/chaos.pid")" || die "not every kill was made; see $FLEET/log/chaos.log"
    printf '\n======== what was killed ========\n'
    cat "$FLEET/log/chaos.log"
fi
printf '\n======== hosts at the end ========\n'
KPCP hosts
printf '\n======== times ========\n'
printf '%s\n' "${phases[@]}"
printf '%-52s %s\n' "the fleet" "$(elapsed $((SECONDS - started)))"
echo "logs, plans, consoles, recordings: $FLEET"
