#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154
#
# ./dev with bad words, and what a signal leaves of a step. Nothing is installed, built or deleted but in the test's folder.

bats_require_minimum_version 1.5.0

setup() {
    REPO=$BATS_TEST_DIRNAME/../..
    T=$BATS_TEST_TMPDIR
    export KPCP_BUILD=$T/build
    mkdir -p "$KPCP_BUILD/log"
}

teardown() {
    if [ -s "$T/pid" ]; then kill "$(<"$T/pid")" 2>/dev/null || :; fi
}

@test "dev: unknown words and words too many are refused before anything is done" {
    for words in "frob" "clean --cahce" "clean --cache more" "setup more" "build more" "lint --help" "vm 6.1 --stok" \
        "vm 6.1 --stock more" "vm ../build.sh" "check nope" "bench nope"; do
        # shellcheck disable=SC2086 # words
        run --separate-stderr "$REPO/dev" $words
        echo "$words: $status, $output, $stderr"
        [ "$status" -eq 1 ]
        [ -n "$stderr" ]
        [ "$(ls "$KPCP_BUILD")" = log ]
        [ -z "$(ls "$KPCP_BUILD/log")" ]
    done
}

@test "dev clean deletes a build folder, and nothing else that KPCP_BUILD may name" {
    "$REPO/dev" clean
    [ ! -e "$KPCP_BUILD" ]
    "$REPO/dev" clean
    mkdir "$KPCP_BUILD"
    echo precious >"$KPCP_BUILD/file"
    run --separate-stderr "$REPO/dev" clean
    [ "$status" -eq 1 ]
    [[ $stderr == *"is no build folder"* ]]
    [ -e "$KPCP_BUILD/file" ]
}

@test "a signal ends a step with all that it started, Ctrl-C too" {
    cat >"$T/run" <<'END'
set -euo pipefail
. "$1/tests/lib/step.sh"
nested() { bash -c 'sleep 1000 & echo $! >"$1"; wait' - "$1"; :; }
step title "$2/log" nested "$2/pid"
END
    local pid state status signal i
    for signal in INT TERM HUP; do
        rm -f "$T/pid"
        # In the background SIGINT is ignored, under nohup SIGHUP, which a shell cannot change for itself.
        env --default-signal=INT,HUP,TERM bash "$T/run" "$REPO" "$T" 2>"$T/err" 3>&- &
        pid=$!
        for ((i = 0; i < 300; i++)); do [ ! -s "$T/pid" ] || break; sleep 0.1; done
        [ -s "$T/pid" ]
        kill -$signal "$pid"
        status=0
        wait "$pid" || status=$?
        cat "$T/err"
        [ "$status" -gt 128 ]
        grep -q "title: stopped by SIG$signal" "$T/err"
        # A zombie that nobody reaps is no survivor.
        state=$(sed -E 's/.*\) (.).*/\1/' "/proc/$(<"$T/pid")/stat" 2>/dev/null || echo gone)
        for ((i = 0; i < 100; i++)); do
            case $state in gone | Z | X) break ;; esac
            sleep 0.1
            state=$(sed -E 's/.*\) (.).*/\1/' "/proc/$(<"$T/pid")/stat" 2>/dev/null || echo gone)
        done
        [[ $state == gone || $state == [ZX] ]]
    done
}
