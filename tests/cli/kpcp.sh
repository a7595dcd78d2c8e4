# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
#
# Owns what the tests of kpcp share: the program, a folder of keys, an invented controller, plans.
# It must not know what kpcp prints.

load canary.sh

KPCP=$BUILD/rollout/kpcp
[ -x "$KPCP" ] || { echo "$KPCP is not there: build first, or set KPCP_BUILD" >&2; exit 1; }
export TZ=UTC HOME=/nonexistent

# keys FOLDER: made once for each file of tests, as certificates take a moment
keys() {
    if [ ! -d "$BATS_FILE_TMPDIR/keys" ]; then
        "$KPCP" init "$BATS_FILE_TMPDIR/keys" --server IP:127.0.0.1,DNS:controller >"$BATS_FILE_TMPDIR/init.out"
    fi
    cp -a "$BATS_FILE_TMPDIR/keys" "$1"
}

# port_to FOLDER: once the server has said it, kpcp.conf points there
port_to() {
    until_true 20 test -s answers/port
    sed -i "s|^url = .*|url = https://127.0.0.1:$(cat answers/port)\ntimeout = ${TIMEOUT:-20s}|" "$1/kpcp.conf"
}

# serve [MODE]: the invented controller, with the answers in ./answers and the keys in ./keys
serve() {
    mkdir -p answers
    rm -f answers/port
    python3 "$BATS_TEST_DIRNAME/controller.py" answers keys "$@" 3>&- &
    SERVER=$!
    port_to keys
}

stop_server() {
    if [ -n "${SERVER:-}" ]; then
        kill "$SERVER" 2>/dev/null || :
        wait "$SERVER" 2>/dev/null || :
    fi
}

# plan FILE: a preset's, as small as it can be
plan() {
    cat >"$1" <<'PLAN'
[rollout]
name = r1
clusters = big

[preset]
name = latency
settings = vm.pcp_batch_scale_max=0
PLAN
}

# ask COMMAND...: with the configuration in ./keys; what hangs is a failure
ask() { timeout 180 "$KPCP" "$@" --config keys/kpcp.conf; }
