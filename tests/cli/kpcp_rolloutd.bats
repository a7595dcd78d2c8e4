#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154
#
# kpcp against the real controller, with hosts that only say that they obey: the whole way of an operator.

load kpcp.sh

ROLLOUTD=$BUILD/rollout/kpcp-rolloutd

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    [ -x "$ROLLOUTD" ]
    keys keys
    sed -i 's/^address = .*/address = 127.0.0.1/; s/^port = .*/port = 0/' keys/rolloutd.conf
    HOSTS=()
    start_controller
    sed -i "s|^url = .*|url = https://127.0.0.1:$port|" keys/kpcp.conf
}

teardown() {
    for p in "${HOSTS[@]}"; do kill "$p" 2>/dev/null || :; done
    stop_server
}

start_controller() {
    "$ROLLOUTD" --config keys/rolloutd.conf 2>log 3>&- &
    SERVER=$!
    until_true 20 grep -q 'listening on' log
    port=$(sed -n 's/.*listening on .* port //p' log)
}

# host NAME [poll|lie]
host() {
    local token
    token=$(ask token "$1" --cluster big)
    if [ $# -eq 1 ]; then
        python3 "$BATS_TEST_DIRNAME/fake_host.py" "https://127.0.0.1:$port" keys/ca.pem "$1" "$token"
    else
        python3 "$BATS_TEST_DIRNAME/fake_host.py" "https://127.0.0.1:$port" keys/ca.pem "$1" "$token" "$2" 2>"$1.log" 3>&- &
        HOSTS+=($!)
        until_true 20 reported "$1"
    fi
}

reported() { ask hosts | grep -q "^$1 .* IDLE"; }

# plan_named NAME SOAK >FILE: two hosts, judged by their health alone
plan_named() {
    cat <<PLAN
[rollout]
name = $1
clusters = big
evidence = health

[judge]
canaries = 1

[waves]
soak = $2

[preset]
name = latency
settings = vm.pcp_batch_scale_max=0
PLAN
}

@test "from a token to DONE: enrol, plan, approve, start, follow, look back" {
    plan_named r1 1s >r1.plan
    run --separate-stderr ask plan r1.plan
    [ "$status" -eq 1 ]
    [[ $output == *"no host of cluster big is enrolled"* ]]
    host h1 poll
    host h2 poll
    ask plan r1.plan >out
    grep -qx 'no problems' out
    grep -qE '^h[12] +big +canary' out
    grep -qE '^h[12] +big +wave +1' out
    ask approve r1.plan >out
    grep -q 'r1: APPROVED' out
    ask start r1 >out
    grep -q 'r1: CANARY' out
    ask status r1 --until-done --interval 200ms --timeout 2min >out
    grep -q 'r1: DONE' out
    ask table r1 >out
    [ "$(grep -cE '^h[12] .* committed' out)" -eq 2 ]
    ask status >out
    grep -qE '^r1 +DONE' out
    ask why h1 >out
    grep -q '^h1, cluster big: COMMITTED' out
    grep -qE '^ +[0-9]+ .* commit +done' out
    ask history --json >out
    python3 -c 'import json; texts = [x["text"] for x in json.load(open("out"))["events"]]
by = " (operator \u0027operator\u0027)"
for first in "approved, serial", "started: 1 canaries", "a token to enrol it into big":
    assert [t for t in texts if t.startswith(first)] and all(t.endswith(by) for t in texts if t.startswith(first)), texts
assert [t for t in texts if t.startswith("enrolled into")] and not any(t.endswith(by) for t in texts if t.startswith("enrolled")), texts
assert not any("handed in" in t or "started it" in t for t in texts), texts'
    for line in "made a token for host h1, into cluster big" "handed in the approved plan of rollout r1 (serial" "started rollout r1"; do
        grep -qF "operator 'operator' $line" log
    done
}

@test "each state says what can be done next" {
    host h1 poll
    host h2 poll
    plan_named r4 10min >r4.plan
    ask approve r4.plan
    run --separate-stderr ask plan r4.plan
    [ "$status" -eq 1 ]
    [[ $(xargs <<<"$output") == *"r4 is APPROVED already: kpcp start r4"* ]]
    for verb in pause resume; do
        run --separate-stderr ask $verb r4
        refused "not started" "kpcp start r4"
    done
    ask abort r4
    for verb in pause resume; do
        run --separate-stderr ask $verb r4
        refused "ABORTED, so it cannot be" "it has ended" "another name"
    done
    run --separate-stderr ask start r4
    refused "ABORTED: it has ended" "another name"
    [[ $stderr != *"started before"* ]]
    run --separate-stderr ask plan r4.plan
    [[ $output == *"choose another name"* ]]
    plan_named r5 10min >r5.plan
    ask approve r5.plan
    ask start r5
    run --separate-stderr ask start r5
    refused "started before" "kpcp status"
    ask abort r5
}

@test "hosts that only say that orders are done are found out by their own reports" {
    host h1 lie
    host h2 lie
    plan_named r1 1s >r1.plan
    ask approve r1.plan
    ask start r1
    run --separate-stderr ask status r1 --until-done --interval 200ms --timeout 2min
    [ "$status" -eq 2 ]
    [[ $output == *"r1: ROLLED_BACK"* ]]
    ask history >out
    grep -q 'apply: failed: reported done, but runs with vm.pcp_batch_scale_max = 5 instead of 0' out
}

@test "pause, resume and abort; a killed controller knows all of it afterwards" {
    host h1 poll
    host h2 poll
    plan_named r2 10min >r2.plan
    ask approve r2.plan
    run --separate-stderr ask pause r2
    refused "cannot be paused"
    ask start r2
    applied() { ask hosts | grep -q APPLIED; }
    until_true 30 applied
    ask pause r2 >out
    grep -q 'paused' out
    kill -9 "$SERVER"
    wait "$SERVER" || :
    sed -i "s/^port = .*/port = $port/" keys/rolloutd.conf
    start_controller
    ask status r2 >out
    grep -qE '^r2: [A-Z]+, paused' out
    told() { ask status r2 | grep -q '^waits for  *it is paused: resume it'; }
    until_true 20 told
    run --separate-stderr ask start r2
    refused r2
    ask resume r2 >out
    absent paused out
    ask abort r2 >out
    run --separate-stderr ask status r2 --until-done --interval 200ms --timeout 2min
    [ "$status" -eq 2 ]
    [[ $output == *"r2: ABORTED"* ]]
    ask hosts >out
    grep -q ROLLED_BACK out
    ask retire h2
    ask hosts >out
    grep -qE '^h2 .*retired' out
}

@test "what the controller must refuse: a signature, a second use, a host's certificate, names that are not there" {
    plan_named r3 1s >r3.plan
    "$KPCP" init others --server DNS:a >/dev/null
    sed '/^public/d' keys/kpcp.conf >keys/unchecked.conf
    run --separate-stderr "$KPCP" approve r3.plan --key others/approver.key --config keys/unchecked.conf
    [ "$status" -eq 1 ]
    [[ $stderr == *signature* ]]
    run --separate-stderr ask status r3
    refused r3
    ask approve r3.plan
    run --separate-stderr ask submit r3.plan.directive r3.plan.directive.sig
    refused r3 "another name"
    run --separate-stderr ask start r3
    refused "0 hosts"
    host h1
    sed 's|operator.pem|../h1/pem|; s|operator.key|../h1/key|' keys/kpcp.conf >keys/host.conf
    run --separate-stderr "$KPCP" hosts --config keys/host.conf
    refused "operator's certificate"
    for command in "why h9" "status r9" "table r9" "start r9" "abort r9" "retire h9"; do
        # shellcheck disable=SC2086 # two words
        run --separate-stderr ask $command
        refused "the controller says: no " "${command#* }" "see: kpcp"
    done
    mkdir mixed
    cp keys/*.* mixed/
    cp others/operator.* mixed/
    run --separate-stderr "$KPCP" hosts --config mixed/kpcp.conf
    refused certificate operator.pem "kpcp init"
}
