# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
#
# Owns what the tests of kpcp-canary share: where the programs are, an invented fleet, a small real recording.

bats_require_minimum_version 1.5.0

BUILD=$(readlink -f "${KPCP_BUILD:-$BATS_TEST_DIRNAME/../../build}")
CANARY=$BUILD/agent/kpcp-canary
MAKE=$BUILD/tests/cli/make_recording
for program in "$CANARY" "$MAKE"; do
    [ -x "$program" ] || { echo "$program is not there: build first, or set KPCP_BUILD" >&2; exit 1; }
done
export LC_ALL=C.UTF-8 NO_COLOR=1

OLD=(--release 6.1.158-stock --build 1)
NEW=(--release 6.1.158-kpcp --build 2 --pcp-scale 5)

# fleet FOLDER: three canaries on the old kernel, a good one and a slow one, three controls that stay; and a plan
fleet() {
    local h boot=0
    mkdir -p "$1"
    add() {
        boot=$((boot + 1))
        "$MAKE" --out "$dir/$1.kpcp" --host "$2" --boot $boot --seed $boot "${@:3}"
    }
    local dir=$1
    for h in 1 2 3; do
        add canary-$h-old canary-$h "${OLD[@]}"
        add canary-$h-new canary-$h "${NEW[@]}" --scale 0.97 --exit-scale 0.98
        add canary-$h-slow canary-$h --release 6.1.158-slow --build 3 --scale 3 --exit-scale 2
        add control-$h-old control-$h "${OLD[@]}"
        add control-$h-new control-$h "${OLD[@]}"
    done
    printf '[judge]\ncanaries = 3\ncontrols = 3\n' >"$dir/plan.conf"
}

# compare WHAT OPTION...: the fleet's canaries on the old kernel against WHAT, with controls
compare() {
    "$CANARY" compare --plan plan.conf "${@:2}" canary-?-old.kpcp -- canary-?-"$1".kpcp \
        --control control-?-old.kpcp -- control-?-new.kpcp
}

# The last run failed as it must: exit 1, nothing on standard output, and each argument is said.
refused() {
    local word
    echo "exit $status, said: $stderr"
    [ "$status" -eq 1 ]
    [ -z "$output" ]
    for word in "$@"; do
        [[ $stderr == *"$word"* ]] || { echo "does not say: $word"; return 1; }
    done
}

# Nothing matches. ("! grep" would not do: bash lets a negated command fail without ending the test.)
absent() {
    if grep "$@"; then return 1; fi
}

# record FILE OPTION...: a real one, as small as it can be
record() {
    "$CANARY" record --out "$1" --storm 2x16M --storms 3 --warmup 1 --burst 96 --period 5ms --window 100ms "${@:2}"
}

# Process ids that belong to a recording into FILE; children have its command line, too.
processes_of() {
    local p
    for p in /proc/[0-9]*; do
        if [ "$(cat "$p/comm" 2>/dev/null)" = kpcp-canary ] && tr '\0' '\n' <"$p/cmdline" | grep -qxF -- "$1"; then
            echo "${p#/proc/}"
        fi
    done 2>/dev/null
}

# The program that the background shell $2 runs to record FILE $1.
recorder_of() {
    local p
    for p in $(processes_of "$1"); do
        if [ "$(awk '{ print $4 }' "/proc/$p/stat" 2>/dev/null)" = "$2" ]; then echo "$p"; fi
    done
}

# until_true SECONDS COMMAND...
until_true() {
    local deadline=$((SECONDS + $1))
    until "${@:2}"; do
        [ "$SECONDS" -lt "$deadline" ] || return 1
        sleep 0.1
    done
}
