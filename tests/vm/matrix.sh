#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Owns which guest tests each base has to pass, and the table of bases and tests at the end. It must not know what a test
# looks at, nor how a kernel is built.
# usage: tests/vm/matrix.sh BASE...
#
# Speaks TAP. KPCP_SCALES (default "0 1 2 3 4 5 6") are the values of vm.pcp_batch_scale_max that are tried.

set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
. tests/lib/tap.sh

(($#)) || { echo 'matrix.sh: error: name at least one base: the files in kernel/bases' >&2; exit 1; }
for base in "$@"; do
    [[ $base != */* && -f kernel/bases/$base ]] || {
        echo "matrix.sh: error: there is no base '$base'; the bases are: $(cd kernel/bases && echo *)" >&2
        exit 1
    }
done
read -r -a scales <<<"${KPCP_SCALES:-0 1 2 3 4 5 6}"
for s in "${scales[@]}"; do
    [[ $s =~ ^[0-6]$ ]] || { echo "matrix.sh: error: KPCP_SCALES has '$s', which is no number from 0 to 6" >&2; exit 1; }
done
out=${KPCP_BUILD:-$PWD/build}/vm-matrix
mkdir -p "$out"
declare -A kernel cell
rows=(built boots sysctl paths)

# Leaves the kernel's folder in a file, as tap runs this in a subshell.
built() { # BASE
    kernel/build.sh --base "$1" --flavour guest deb >"$out/$1.kernel"
    [[ -f $(<"$out/$1.kernel")/vmlinuz ]]
}

guest() { # NAME SCRIPT ARGS...
    local name=$1
    shift
    tests/vm/run --kernel "${kernel[$base]}/vmlinuz" --out "$out/$name" --name "$name" \
        --timeout "${KPCP_GUEST_TIMEOUT:-1800}" -- "$@"
}

# row ROW TEST-NAME COMMAND...: one test, whose result and time go into the table
row() {
    local before=$tap_failed began=$SECONDS
    tap "$base: $2" "${@:3}"
    cell[$base:$1]=ok
    ((tap_failed == before)) || cell[$base:$1]=FAILED
    cell[$base:$1]+=" $((SECONDS - began))s"
}

table() {
    local r
    printf '# %-10s' base
    printf ' %-14s' "${rows[@]}"
    printf '\n'
    for base in "$@"; do
        printf '# %-10s' "$base"
        for r in "${rows[@]}"; do printf ' %-14s' "${cell[$base:$r]-not run}"; done
        printf '\n'
    done
}

for base in "$@"; do
    row built 'the guest kernel is built' built "$base"
    [[ ${cell[$base:built]} == ok* ]] || continue
    kernel[$base]=$(<"$out/$base.kernel")
    row boots 'the kernel boots and is the one that was built' guest "$base-boot" tests/vm/boot.sh "$(<"${kernel[$base]}/release")"
    [[ ${cell[$base:boots]} == ok* ]] || continue
    row sysctl 'vm.pcp_batch_scale_max takes 0 to 6 and nothing else' guest "$base-sysctl" tests/vm/sysctl.sh present
    row paths 'the documented bounds hold on every path, and a lower value acts at once' guest "$base-paths" tests/vm/paths.sh "${scales[@]}"
done
table "$@"
tap_end
