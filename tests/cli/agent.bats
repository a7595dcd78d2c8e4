#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2034,SC2154
#
# kpcp-agent, both processes, against the real controller: enrolment, who may do what, and what the end of one process
# does to the other. It runs on the machine that runs the tests, so that no order here may be one that is carried out.

load agent.sh

ROLLOUTD=$BUILD/rollout/kpcp-rolloutd

setup() {
    [ "$(id -u)" -eq 0 ] || skip "the agent runs as root"
    cd "$BATS_TEST_TMPDIR" || return
    reachable "$PWD"
    keys keys
    chmod a+rx keys
    sed -i 's/^address = .*/address = 127.0.0.1/; s/^port = .*/port = 0/' keys/rolloutd.conf
    printf '\n[agents]\npoll-interval = 1s\nbusy-poll-interval = 1s\n' >>keys/rolloutd.conf
}

teardown() {
    stop_pid "${RUNS:-}"
    stop_server
}

controller() {
    "$ROLLOUTD" --config keys/rolloutd.conf 2>>rolloutd.log 3>&- &
    SERVER=$!
    until_true 20 grep -q 'listening on' rolloutd.log
    port=$(sed -n 's/.*listening on .* port //p' rolloutd.log | tail -n 1)
    # The next one of this test listens there, too.
    sed -i "s/^port = .*/port = $port/" keys/rolloutd.conf
    sed -i "s|^url = .*|url = https://127.0.0.1:$port|" keys/kpcp.conf
    agent_conf "$port"
}

# give_token [HOST] : into ./token
give_token() { (umask 077 && ask token "${1:-h1}" --cluster lab >"$PWD/token"); }

agent() {
    "$AGENT" run --config agent.conf 2>>agent.log 3>&- 9>&- &
    RUNS=$!
    until_true 20 "$AGENT" status --config agent.conf
    until_true 20 talker
}

# The process that talks, out of the one that acts.
talker() { TALKS=$(pgrep -P "$RUNS" -u nobody -x kpcp-agent); }
gone() { ! kill -0 "$1" 2>/dev/null; }
refused_apply() { ask history | grep -q 'h1 refused apply: the signature does not match'; }
reported() { ask hosts 2>/dev/null | grep -q '^h1 .* IDLE'; }
said() { grep -qE -- "$1" agent.log; }

@test "from a token to reports: the token goes, the certificate stays, the next start needs none" {
    controller
    give_token
    agent
    until_true 30 reported
    said "enrolled at https://127.0.0.1:$port as h1"
    [ ! -e token ]
    [ ! -e state/talker/token ]
    [ "$(stat -c '%U %a' state state/actor state/spool state/talker state/talker/host.key state/talker/host.pem | tr '\n' ,)" = \
        "root 755,root 700,root 2750,nobody 700,nobody 600,nobody 600," ]
    "$AGENT" status --config agent.conf >out
    grep -q "^agent  *running: process $RUNS acts, process $TALKS talks as nobody" out
    grep -q '^controller .* as h1: enrolled$' out
    grep -q '^state  *IDLE' out
    stop_pid "$RUNS"
    gone "$TALKS"
    : >agent.log
    agent
    until_true 20 said 'polling as h1'
    absent -E 'enrolled at|token: ' agent.log
    absent '^<' agent.log
    # Where the journal reads, both processes' lines have priorities.
    stop_pid "$RUNS"
    : >agent.log
    export JOURNAL_STREAM
    JOURNAL_STREAM=$(stat -c %d:%i agent.log)
    agent
    until_true 20 said '^<6>.*polling as h1'
    stop_pid "$RUNS"
    absent -v '^<[3-6]>' agent.log
}

@test "a token for another host, a used one, and none at all are explained, and waited through" {
    controller
    agent
    until_true 20 said 'has no certificate and no token'
    stop_pid "$RUNS"
    give_token h2
    cp token kept
    agent
    until_true 20 said "refused this host's enrolment as h1"
    stop_pid "$RUNS"
    sed -i 's/^name = h1/name = h2/' agent.conf
    mv kept token
    cp token kept
    agent
    until_true 20 said 'enrolled at .* as h2'
    stop_pid "$RUNS"
    rm -r state
    mv kept token
    agent
    until_true 20 said "refused this host's enrolment as h2"
    kill -0 "$RUNS"
}

@test "what is no token stays where it is, is explained, and stops nothing" {
    controller
    echo "my token" >token
    agent
    until_true 20 said 'token holds no token, which has 64 hexadecimal digits'
    [ "$(cat token)" = "my token" ]
}

@test "a controller that is down is waited for" {
    controller
    give_token
    agent
    until_true 30 reported
    stop_server
    until_true 30 said 'cannot be reached|closed the connection'
    kill -0 "$RUNS"
    : >rolloutd.log
    : >agent.log
    controller
    until_true 60 said 'answers; polling as h1'
}

@test "neither process outlives the other" {
    controller
    agent
    kill -KILL "$TALKS"
    until_true 20 gone "$RUNS"
    said 'the process that talks was ended by signal 9'
    agent
    kill -KILL "$RUNS"
    until_true 20 gone "$TALKS"
    wait "$RUNS" 2>/dev/null || :
    # And the next one starts over what is left.
    agent
    kill -TERM "$RUNS"
    wait "$RUNS"
    gone "$TALKS"
}

@test "the process that talks has no rights, and what it must not do is refused" {
    controller
    agent
    # With groups to lose: a test's root may have none.
    setpriv --groups 1,2 "$AGENT" self --config agent.conf >out
    cat out
    [ "$(grep -c '^process\|(process [0-9]*):' out)" -eq 2 ]
    # Both: the one made for the look, and the one that runs.
    [ "$(grep -cE '^ *Cap(Inh|Prm|Eff|Bnd|Amb):.0{16}$' out)" -eq 10 ]
    [ "$(grep -cE '^ *NoNewPrivs:.1$' out)" -eq 2 ]
    [ "$(grep -cE '^ *Uid:(.65534){4}$' out)" -eq 2 ]
    [ "$(grep -cE '^ *Groups:[[:space:]]*$' out)" -eq 2 ]
    absent ALLOWED out
    # Besides the standard ones, the made one has its channel.
    [ "$(sed -n '/^a process made/,/^what/p' out | grep -c 'descriptor')" -eq 4 ]
}

@test "an order that the approver did not sign is refused, told, and changes nothing" {
    controller
    give_token
    "$KPCP" init others --server IP:127.0.0.1 >/dev/null
    cp others/approver.pub approver.pub
    sed -i "s|^approver = .*|approver = $PWD/approver.pub|" agent.conf
    agent
    until_true 30 reported
    plan r1.plan
    sed -i 's/^clusters = big/clusters = lab\nevidence = health/' r1.plan
    printf '\n[judge]\ncanaries = 1\n[waves]\nsoak = 1s\n' >>r1.plan
    ask approve r1.plan >/dev/null
    ask start r1
    until_true 60 refused_apply
    "$AGENT" status --config agent.conf >out
    cat out
    grep -qE '^state +IDLE' out
    # Whoever cannot sign cannot change the state either, not by a number: the log and the controller tell of it.
    absent '^last order' out
    said 'is refused: .*signature'
}

@test "two agents on one state directory, no root, no user, bad configurations" {
    controller
    agent
    run --separate-stderr "$AGENT" run --config agent.conf
    refused "another agent runs on $PWD/state"
    for command in run status lift self; do
        run --separate-stderr setpriv --reuid=nobody --regid=nogroup --clear-groups "$AGENT" $command --config agent.conf
        refused "needs root"
        run --separate-stderr "$AGENT" $command --config none.conf
        refused none.conf
        run --separate-stderr "$AGENT" $command --config agent.conf more
        refused "'more' is not expected"
        run --separate-stderr "$AGENT" $command --confg agent.conf
        refused --config
    done
    run --separate-stderr "$AGENT" lift --config agent.conf
    refused "nothing to be lifted"
    run --separate-stderr "$AGENT" lift --config agent.conf --build-id 12
    refused "40 hexadecimal digits"
    stop_pid "$RUNS"
    sed 's/^user = .*/user = no-such-user/' agent.conf >bad.conf
    run --separate-stderr "$AGENT" run --config bad.conf
    refused "no user no-such-user"
    rm -r state/talker
    ln -s /etc state/talker
    run --separate-stderr "$AGENT" run --config agent.conf
    refused "no link to one"
    [ "$(stat -c %U /etc)" = root ]
}

@test "help and version" {
    run --separate-stderr "$AGENT" --help
    [ "$status" -eq 0 ]
    for word in run status lift self; do [[ $output == *"$word"* ]]; done
    run --separate-stderr "$AGENT" --version
    [ "$status" -eq 0 ]
    [[ $output =~ ^kpcp-agent\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
}
