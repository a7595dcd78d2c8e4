# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
#
# Owns what the tests of kpcp-agent share: a folder that a user without rights can reach, agent.conf, keys.
# It must not know what the agent says.

load kpcp.sh

AGENT=$BUILD/agent/kpcp-agent
TALK=$BUILD/tests/cli/talk
for program in "$AGENT" "$TALK"; do
    [ -x "$program" ] || { echo "$program is not there: build first, or set KPCP_BUILD" >&2; exit 1; }
done

# For the test's own folder and those above it that bats made: mktemp lets nobody else in.
reachable() {
    local d=$1
    while [ "$d" != / ] && [[ $d == *bats* ]]; do
        chmod a+rx "$d"
        d=$(dirname "$d")
    done
}

# agent_conf PORT [LINE...]: ./agent.conf for the host h1, whose state is in ./state
agent_conf() {
    local T=$PWD
    cat >agent.conf <<END
[controller]
url = https://127.0.0.1:$1
ca = $T/keys/ca.pem
[trust]
approver = $T/keys/approver.pub
[state]
directory = $T/state
user = nobody
[programs]
canary = $CANARY
[host]
name = h1
token-file = $T/token
END
}

# host_cert NAME: the certificate of a host that has enrolled, in ./state/talker
host_cert() {
    mkdir -p state/talker state/spool
    openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout state/talker/host.key -out csr \
        -subj "/O=kpcp-host/OU=lab/CN=$1" 2>/dev/null
    openssl x509 -req -in csr -CA keys/ca.pem -CAkey keys/ca.key -days 1 -out state/talker/host.pem 2>/dev/null
}

# stop_pid PID: and all is well when it is gone already
stop_pid() {
    [ -n "${1:-}" ] || return 0
    kill "$1" 2>/dev/null || :
    wait "$1" 2>/dev/null || :
}
