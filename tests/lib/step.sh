# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Owns how a long step shows itself: its name, the time that passes, and where its log is when it fails.
# Sourced by ./dev and the scripts that it calls; it must not know what a step does.

# shellcheck source=kernel/lib-nearest.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../kernel/lib-nearest.sh"

die() {
    echo "${0##*/}: $*" >&2
    exit 1
}

# elapsed SECONDS -> "3 min 07 s"
elapsed() {
    if [ "$1" -ge 60 ]; then
        printf '%d min %02d s' $(($1 / 60)) $(($1 % 60))
    else
        printf '%d s' "$1"
    fi
}

# known KIND WORD NAME... : ends the script unless WORD is one of the names
known() {
    local kind=$1 word=$2 name
    shift 2
    for name in "$@"; do
        [ "$word" != "$name" ] || return 0
    done
    die "unknown $kind '$word'; the nearest is '$(nearest "$word" "$@")' (all: $*)"
}

# tree PID -> it and all that it started
tree() {
    local child
    echo "$1"
    sed -nE "s/^([0-9]+) \\(.*\\) [A-Za-z] $1 .*/\\1/p" /proc/[0-9]*/stat 2>/dev/null |
        while read -r child; do tree "$child"; done || :
}

# stop_step SIGNAL PID TITLE LOG : a step in the background has SIGINT ignored, and so has all that it starts: it would
# go on after a Ctrl-C.
stop_step() {
    trap '' INT TERM HUP
    # shellcheck disable=SC2046 # process ids are words
    kill -TERM $(tree "$2") 2>/dev/null || :
    wait "$2" 2>/dev/null || :
    printf '\n%s: stopped by SIG%s; its log: %s\n' "$3" "$1" "$4" >&2
    trap - INT TERM HUP
    kill -s "$1" "$BASHPID"
}

# step TITLE LOG COMMAND... : runs the command into LOG. On a terminal the time counts up; elsewhere a line a
# minute says that it is still at work. On failure the end of the log is shown and the log named.
step() {
    local title=$1 log=$2 begin=$SECONDS pid status=0 said=0 signal stopped=
    shift 2
    mkdir -p "$(dirname "$log")"
    "$@" >"$log" 2>&1 </dev/null &
    pid=$!
    # shellcheck disable=SC2064 # the signal as it is now
    for signal in INT TERM HUP; do trap "stopped=$signal" "$signal"; done
    while kill -0 "$pid" 2>/dev/null; do
        if [ -t 2 ]; then
            printf '\r%s ... %s ' "$title" "$(elapsed $((SECONDS - begin)))" >&2
        elif [ $(((SECONDS - begin) / 60)) -gt "$said" ]; then
            said=$(((SECONDS - begin) / 60))
            printf '%s ... %s\n' "$title" "$(elapsed $((SECONDS - begin)))" >&2
        fi
        read -rt 0.2 <> <(:) || :
        [ -z "$stopped" ] || stop_step "$stopped" "$pid" "$title" "$log"
    done
    wait "$pid" || status=$?
    trap - INT TERM HUP
    [ ! -t 2 ] || printf '\r' >&2
    if [ "$status" -ne 0 ]; then
        tail -n 20 "$log" >&2
        printf '%s: FAILED with status %d after %s; the whole log: %s\n' "$title" "$status" \
            "$(elapsed $((SECONDS - begin)))" "$log" >&2
        return "$status"
    fi
    printf '%s: %s\n' "$title" "$(elapsed $((SECONDS - begin)))" >&2
}
