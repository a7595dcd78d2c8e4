#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Owns the demo's first half: three kernels are built and packaged, eight guests play hosts, what a bystander waits is
# measured in each, and two comparisons are judged. It must not know how any of these is done: it calls what a user
# would call.
#
# Four canaries are measured under the unpatched kernel, the patched one and the slow one; four controls stay on the
# unpatched kernel and are measured again each time, so that what changes with time alone is not held against a kernel.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
. tests/lib/step.sh
. tests/lib/kernels.sh

usage() {
    cat <<'END'
usage: tests/demo/verdict.sh [--again]

  --again   measure once more into a folder beside the first and print how far the ratios differ
END
}

again=no
for arg in "$@"; do
    case "$arg" in
    --again) again=yes ;;
    -h | --help) usage; exit 0 ;;
    *) known option "$arg" --again --help ;;
    esac
done

BUILD=${KPCP_BUILD:-$PWD/build}
CANARY=$BUILD/agent/kpcp-canary
OUT=$BUILD/demo
HOSTS=4 # of each arm; tests/demo/plan.conf says why
SEED=20261130
started=$SECONDS
phases=()

phase() { phases+=("$(printf '%-42s %s' "$1" "$(elapsed "$2")")"); }

# The kernels come out of their packages, as a host would get them.
declare -A vmlinuz release
build_kernels() {
    local v dir begin
    for v in stock kpcp slow; do
        begin=$SECONDS
        step "kernel: build and package the $v one" "$OUT/log/kernel-$v.log" kernel_build "$v"
        dir=$(kernel_build "$v" 2>>"$OUT/log/kernel-$v.log")
        rm -rf "$OUT/root-$v"
        dpkg-deb -x "$dir"/linux-image-*.deb "$OUT/root-$v"
        release[$v]=$(<"$dir/release")
        vmlinuz[$v]=$OUT/root-$v/boot/vmlinuz-${release[$v]}
        [ -s "${vmlinuz[$v]}" ] || die "the package in $dir holds no /boot/vmlinuz-${release[$v]}"
        phase "kernel $v (${release[$v]})" $((SECONDS - begin))
    done
}

# job FOLDER KERNEL HOST RECORDING -> one line of tests/vm/pool's input: a guest that makes the recording
# One seed a host, so that its random delays are the same in each of its boots and do not add to their difference.
job() {
    local IFS=$'\t' line
    line=("$4" tests/vm/run --kernel "${vmlinuz[$2]}" --out "$1/$4" --name "$3" --timeout 1200
        -- tests/demo/measure.sh "$BUILD" "$(printf '%s' "$3" | cksum | cut -d ' ' -f 1)")
    echo "${line[*]}"
}

# The jobs in an order drawn from the seed, so that no arm is measured first or last as a whole.
jobs() {
    local h v
    for ((h = 1; h <= HOSTS; h++)); do
        for v in stock kpcp slow; do
            job "$1" $v "canary-$h" "canary-$h-$v"
        done
        for v in before kpcp slow; do
            job "$1" stock "control-$h" "control-$h-$v"
        done
    done | shuf --random-source=<(yes "$SEED")
}

measure() {
    local dir=$1 begin=$SECONDS
    rm -rf "$dir"
    mkdir -p "$dir"
    jobs "$dir" >"$dir/jobs"
    echo "measure: $(wc -l <"$dir/jobs") boots, order by seed $SEED"
    tests/vm/pool --jobs 2 --title "measure" --logs "$dir/log" <"$dir/jobs"
    phase "measure in guests ($(basename "$dir"))" $((SECONDS - begin))
}

# recordings FOLDER ARM WHAT -> the arm's files
recordings() { for ((h = 1; h <= HOSTS; h++)); do echo "$1/$2-$h-$3/recording.kpcp"; done; }

# compare FOLDER KERNEL EXTRA... : judges canaries on KERNEL against controls that stayed
compare() {
    local dir=$1 v=$2 old new c_old c_new
    shift 2
    mapfile -t old < <(recordings "$dir" canary stock)
    mapfile -t new < <(recordings "$dir" canary "$v")
    mapfile -t c_old < <(recordings "$dir" control before)
    mapfile -t c_new < <(recordings "$dir" control "$v")
    "$CANARY" compare --plan tests/demo/plan.conf "$@" "${old[@]}" -- "${new[@]}" --control "${c_old[@]}" -- "${c_new[@]}"
}

# judge FOLDER KERNEL EXPECTED-EXIT NAME : shows a comparison and checks that it came out as it must
judge() {
    local dir=$1 v=$2 want=$3 name=$4 status=0
    printf '\n======== %s against the unpatched kernel ========\n' "$v"
    compare "$dir" "$v" || status=$?
    compare "$dir" "$v" --json >"$dir/$v.json" || :
    [ "$status" -eq "$want" ] || die "the verdict on the $v kernel should have been $name (exit $want); it was exit $status. Recordings: $dir"
}

mkdir -p "$OUT/log"
build_kernels
measure "$OUT/first"
for v in stock kpcp slow; do
    printf '\n======== recording: canary-1 on the %s kernel ========\n' $v
    "$CANARY" report "$OUT/first/canary-1-$v/recording.kpcp"
done
begin=$SECONDS
judge "$OUT/first" kpcp 0 PROMOTE
judge "$OUT/first" slow 2 ROLLBACK
phase "reports and verdicts" $((SECONDS - begin))

if [ "$again" = yes ]; then
    measure "$OUT/again"
    judge "$OUT/again" kpcp 0 PROMOTE
    judge "$OUT/again" slow 2 ROLLBACK
    printf '\n======== how far the ratios of two runs differ ========\n'
    for v in kpcp slow; do tests/demo/differ.py "$OUT/first/$v.json" "$OUT/again/$v.json" "$v"; done
fi

printf '\n======== times ========\n'
printf '%s\n' "${phases[@]}"
printf '%-42s %s\n' "the verdicts" "$(elapsed $((SECONDS - started)))"
echo "recordings, JSON, consoles: $OUT; logs of the kernel builds: $OUT/log"
