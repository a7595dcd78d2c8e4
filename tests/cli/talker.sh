# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154
#
# Owns what the tests of the process without rights share: an invented controller, and an actor that is nothing but
# words (talk). It must not know what the controller answers.

load agent.sh

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    keys keys
    host_cert h1
    printf recorded >state/spool/recording.kpcp
    mkdir answers
}

teardown() {
    stop_pid "${TALKER:-}"
    stop_server
}

# invent [MODE]: the controller
invent() {
    rm -f answers/port
    python3 "$BATS_TEST_DIRNAME/talk_server.py" answers keys "$@" 3>&- &
    SERVER=$!
    until_true 20 test -s answers/port
    agent_conf "$(cat answers/port)"
}

# start: the talker; lines for it go to descriptor 9, what it says is in ./said, its log in ./log
start() {
    mkfifo lines
    "$TALK" agent.conf <lines >said 2>log 3>&- &
    TALKER=$!
    exec 9>lines
    echo "report none 0" >&9
}

# finish: it has nothing more to do, and ends well
finish() {
    exec 9>&-
    wait "$TALKER" || { cat log; return 1; }
    TALKER=
}

asked_times() { [ -e answers/log ] && [ "$(grep -cxF -- "$2" answers/log)" -ge "$1" ]; }
WAIT='{"version":1,"wait_s":1}'
# order EPOCH
order() {
    printf '{"version":1,"wait_s":1,"order":{"epoch":%s,"rollout":"r1","verb":"stage"},"directive":"[rollout]\\n","signature":"AA=="}' "$1"
}
