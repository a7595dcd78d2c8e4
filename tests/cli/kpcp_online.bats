#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154,SC2034
#
# kpcp against an invented controller: what it asks, what it shows, and what it makes of servers that are not well.

load kpcp.sh

setup_file() {
    cd "$BATS_FILE_TMPDIR" || return
    fleet recordings
    (cd recordings && compare new --json) >comparison.json
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    keys keys
    SERVER=
}

teardown() { stop_server; }

controller() {
    mkdir -p answers
    python3 "$BATS_TEST_DIRNAME/answers.py" answers "$BATS_FILE_TMPDIR/comparison.json"
    serve
}

# golden NAME: what was shown is what was looked at
golden() { diff "$BATS_TEST_DIRNAME/golden/kpcp_$1.txt" out; }

@test "status, hosts, why, table, history and plan show what the controller says, as it was looked at" {
    controller
    plan r1.plan
    ask status >out
    golden rollouts
    ask status r1 >out
    golden status
    ask hosts >out
    golden hosts
    ask why canary-1 >out
    golden why
    ask table r1 >out
    golden table
    ask history --limit 2 >out
    golden history
    ask plan r1.plan >out
    golden plan
}

@test "--json gives the controller's own answer" {
    controller
    plan r1.plan
    check() {
        local file=$1
        ask "${@:2}" --json >out
        python3 -c 'import json, sys
assert json.load(open("out")) == json.load(open(sys.argv[1]))' "answers/$file"
    }
    check GET_v1_rollouts status
    check GET_v1_rollouts_r1 status r1
    check GET_v1_rollouts_r1 table r1
    check GET_v1_rollouts_r1 status r1 --until-done
    check GET_v1_hosts hosts
    check 'GET_v1_history?limit=2' history --limit 2
    check POST_v1_plans plan r1.plan
    check POST_v1_tokens token h1 --cluster big
    check POST_v1_rollouts_r1_abort abort r1
    ask why canary-1 --json >out
    python3 -c 'import json
both = json.load(open("out"))
assert both["host"] == json.load(open("answers/GET_v1_hosts_canary-1"))
assert both["rollout"] == json.load(open("answers/GET_v1_rollouts_r1"))'
}

@test "plan sends the file's exact bytes, and exits 1 with problems" {
    controller
    plan r1.plan
    ask plan r1.plan >out
    cmp r1.plan answers/body.1
    echo '{"name":"r1","factor":"preset","hosts":[],"problems":["cluster big has 2 hosts, 8 are needed"]}' \
        >answers/POST_v1_plans
    run --separate-stderr ask plan r1.plan
    [ "$status" -eq 1 ]
    [[ $output == *"1 problem:"*"cluster big has 2 hosts"* ]]
    run --separate-stderr ask plan r1.plan --json
    [ "$status" -eq 1 ]
    [[ $output == *'"problems"'* ]]
    echo 'x = 1' >>r1.plan
    run --separate-stderr ask plan r1.plan
    refused r1.plan:8
    [ ! -e answers/body.4 ]
}

@test "approve and submit send what was signed; a refusal leaves the files of before" {
    controller
    plan r1.plan
    ask approve r1.plan >out 2>said
    grep -q 'kpcp start r1' out
    python3 -c 'import json
body = json.load(open("answers/body.2"))
assert body["directive"] == open("r1.plan.directive").read() and body["signature"] + "\n" == open("r1.plan.directive.sig").read()'
    ask submit r1.plan.directive r1.plan.directive.sig >out
    cmp answers/body.1 r1.plan
    cmp answers/body.2 answers/body.3
    [[ $(cat said) == *"signed: r1"*"written: r1.plan.directive and"* ]]
    cp r1.plan.directive before.directive
    cp r1.plan.directive.sig before.sig
    printf 'HTTP 409\na rollout r1 was there; take another name\n' >answers/POST_v1_rollouts
    run --separate-stderr ask approve r1.plan
    refused "not submitted" "take another name" "no file"
    [[ $stderr != *approved* && $stderr != *"written: r1"* ]]
    unchanged() { cmp before.directive r1.plan.directive && cmp before.sig r1.plan.directive.sig; }
    unchanged
    printf 'HTTP 503\nthe disk is full\n' >answers/POST_v1_rollouts
    run --separate-stderr ask approve r1.plan
    refused "the disk is full" "left as it is"
    unchanged
    rm r1.plan.directive
    run --separate-stderr ask approve r1.plan
    refused "the disk is full" "left as it is"
    [ ! -e r1.plan.directive ]
    rm r1.plan.directive.sig
    run --separate-stderr ask approve r1.plan
    refused "the disk is full" "kpcp submit r1.plan.directive r1.plan.directive.sig"
    openssl dgst -sha256 -verify keys/approver.pub -signature <(base64 -d r1.plan.directive.sig) r1.plan.directive
}

@test "approve tells what stands against the plan, and goes on" {
    controller
    plan r1.plan
    printf '{"name": "r1", "factor": "preset", "hosts": [], "problems": ["no host of cluster big", "h1 is HELD"]}' \
        >answers/POST_v1_plans
    ask approve r1.plan >out 2>said
    grep -q 'kpcp start r1' out
    grep -qx 'kpcp: warning: no host of cluster big' said
    grep -qx 'kpcp: warning: h1 is HELD' said
    printf 'HTTP 400\nplan:1: no such thing\n' >answers/POST_v1_plans
    rm r1.plan.directive
    run --separate-stderr ask approve r1.plan
    refused "no such thing"
    [ ! -e r1.plan.directive ]
    printf 'HTTP 503\nlater\n' >answers/POST_v1_plans
    ask approve r1.plan
}

@test "token prints the token alone; start, pause, resume, abort, retire say what came of it" {
    controller
    ask token h1 --cluster big --ttl 2h >out 2>said
    [ "$(cat out)" = "$(printf 'ab%.0s' {1..32})" ]
    grep -q 'h1.*big.*/etc/kpcp/token' said
    [ "$(cat answers/body.1)" = '{"host":"h1","cluster":"big","ttl_s":7200}' ]
    for verb in start pause resume abort; do ask $verb r1 >>all; done
    diff all - <<-'EOF'
		r1: CANARY
		r1: CANARY, paused
		r1: CANARY
		r1: ROLLING_BACK
		EOF
    ask retire canary-1 >out
    grep -q 'canary-1 is written off' out
    [ "$(tail -n 1 answers/log)" = "POST /v1/hosts/canary-1/retire" ]
    printf 'HTTP 409\nr1 is DONE; it cannot be paused\n' >answers/POST_v1_rollouts_r1_pause
    run --separate-stderr ask pause r1
    refused "r1 is DONE"
    run --separate-stderr ask start r9
    refused "no such thing"
}

@test "status --until-done tells each change once, and its exit code the end" {
    controller
    run --separate-stderr ask status r2 --until-done --interval 100ms
    [ "$status" -eq 2 ]
    [ "$(grep -c 'r2: CANARY' <<<"$output")" -eq 1 ]
    [ "$(grep -c 'canary-1: staged' <<<"$output")" -eq 1 ]
    [ "$(grep -c 'canary-1: measured' <<<"$output")" -eq 1 ]
    [[ $output == *"r2: JUDGING"*"r2: ROLLED_BACK"* ]]
    run --separate-stderr ask status r3 --until-done --interval 100ms
    [ "$status" -eq 3 ]
    [[ $output == *"r3: HOLD"* ]]
    run --separate-stderr ask status r4 --until-done --interval 100ms
    [ "$status" -eq 0 ]
    [[ $output == *"r4: DONE"* ]]
    python3 "$BATS_TEST_DIRNAME/answers.py" answers "$BATS_FILE_TMPDIR/comparison.json"
    run --separate-stderr ask status r2 --watch --interval 100ms
    [ "$status" -eq 0 ]
    sed -i 's/"state": "DONE"/"state": "CANARY"/' answers/GET_v1_rollouts_r1
    run --separate-stderr ask status r1 --until-done --interval 100ms --timeout 1s
    [ "$status" -eq 3 ]
    [[ $stderr == *"no end after 1 s"* ]]
    sed -i 's/"state": "CANARY"/"state": "ELSEWHERE"/' answers/GET_v1_rollouts_r1
    run --separate-stderr ask status r1 --until-done
    [ "$status" -eq 1 ]
    [[ $stderr == *ELSEWHERE* ]]
}

@test "status --watch of all says at once that there are none, once, and then what comes" {
    controller
    rm answers/GET_v1_rollouts
    mkdir answers/GET_v1_rollouts again
    echo '{"rollouts": []}' >answers/GET_v1_rollouts/1
    echo '{"rollouts": []}' >answers/GET_v1_rollouts/2
    python3 "$BATS_TEST_DIRNAME/answers.py" again "$BATS_FILE_TMPDIR/comparison.json"
    cp again/GET_v1_rollouts answers/GET_v1_rollouts/3
    timeout 60 "$KPCP" status --watch --interval 100ms --config keys/kpcp.conf >out 3>&- &
    local watching=$!
    comes() { grep -q 'r1: ' out; }
    until_true 20 comes
    kill "$watching"
    wait "$watching" || :
    [ "$(grep -c 'no rollouts yet' out)" -eq 1 ]
    [[ $(head -n 1 out) == *"no rollouts yet" ]]
    "$KPCP" status --help | xargs | grep -q 'without for ever'
}

@test "status --watch redraws on a terminal" {
    controller
    python3 - "$KPCP" >out <<'END'
import os, pty, sys
os.environ["TERM"] = "xterm"
pty.spawn([sys.argv[1], "status", "r4", "--watch", "--interval", "100ms", "--config", "keys/kpcp.conf"])
END
    [ "$(grep -c $'\033\[H' out)" -eq 4 ]
    grep -q $'\033\[Hr4: DONE' out
}

@test "a controller that restarts is waited for; one that never answered is not" {
    controller
    sed -i 's/"state": "DONE"/"state": "CANARY"/' answers/GET_v1_rollouts_r1
    ask status r1 --until-done --interval 100ms >out 2>said 3>&- &
    watcher=$!
    until_true 20 grep -q 'r1: CANARY' out
    stop_server
    until_true 20 grep -q 'asking on' said
    sed -i 's/"state": "CANARY"/"state": "DONE"/' answers/GET_v1_rollouts_r1
    sed 's/("127.0.0.1", 0)/("127.0.0.1", '"$(cat answers/port)"')/' "$BATS_TEST_DIRNAME/controller.py" >again.py
    python3 again.py answers keys 3>&- &
    SERVER=$!
    wait "$watcher"
    grep -q 'answers again' said
    [ "$(grep -c 'asking on' said)" -eq 1 ]
    grep -q 'r1: DONE' out
    stop_server
    run --separate-stderr ask status r1 --until-done
    refused "nobody answers" kpcp-rolloutd
}

@test "texts of hosts do not reach the terminal as they are" {
    controller
    python3 - <<'END'
import json
hosts = json.load(open("answers/GET_v1_hosts"))
hosts["hosts"][0]["reason"] = "a\x1b[2Jb\x07c\u009b31md\u202ee\nf\x7f"
json.dump(hosts, open("answers/GET_v1_hosts", "w"))
END
    ask hosts >out
    absent -P '[\x00-\x09\x0b-\x1f\x7f]|\xc2\x9b|\xe2\x80\xae' out
    grep -q 'a?\[2Jb' out
    printf 'HTTP 403\nno\033[2J\n' >answers/GET_v1_hosts
    run --separate-stderr ask hosts
    refused "no?[2J" "operator's certificate"
}

@test "a certificate of another authority, none that the server may have, another name, another server" {
    controller
    "$KPCP" init others --server DNS:a >/dev/null
    cp -r keys mixed
    cp others/operator.* mixed/
    run --separate-stderr "$KPCP" hosts --config mixed/kpcp.conf
    refused certificate "kpcp init" operator.pem
    cp keys/operator.* mixed/
    cp others/ca.pem mixed/
    run --separate-stderr "$KPCP" hosts --config mixed/kpcp.conf
    refused "does not prove to be the controller" mixed/ca.pem
    cp keys/ca.pem mixed/
    sed -i 's/127.0.0.1/localhost/' mixed/kpcp.conf
    run --separate-stderr "$KPCP" hosts --config mixed/kpcp.conf
    refused localhost --server
    cp keys/kpcp.conf mixed/
    cp keys/server.key mixed/operator.key
    run --separate-stderr "$KPCP" hosts --config mixed/kpcp.conf
    refused operator.key "no certificate and its key"
    # A server's own certificate is none for clients, though its authority is right.
    cp keys/server.pem mixed/operator.pem
    run --separate-stderr "$KPCP" hosts --config mixed/kpcp.conf
    refused certificate operator.pem
}

@test "servers that are not there, silent, mute, or speak something else" {
    controller
    stop_server
    run --separate-stderr ask hosts
    refused "nobody answers" kpcp-rolloutd url
    for mode in silent mute; do
        rm -rf keys && keys keys
        TIMEOUT=300ms serve $mode
        run --separate-stderr timeout 30 "$KPCP" hosts --config keys/kpcp.conf
        refused "did not answer" timeout
        stop_server
    done
    rm -rf keys && keys keys
    serve anyone
    check() {
        printf '%b' "$1" >answers/GET_v1_hosts
        run --separate-stderr ask hosts
        refused "${@:2}"
    }
    check 'garbage' "no JSON" kpcp-rolloutd
    check '' "no JSON"
    check '[]' "no JSON object"
    check '{"hosts":[],"hosts":[]}' "no JSON"
    check '{}' hosts version
    check '{"hosts":[{}]}' name version
    check '{"hosts":[1]}' version
    check 'HTTP 302 Location: https://127.0.0.1:1/\n' 302
    check 'HTTP 503 Retry-After: 7\nthe disk is full\n' "the disk is full" "7 s"
    check 'HTTP 500\n' "status 500"
    check 'HTTP 400\nno\n' no
    check 'HTTP 204\n' "no JSON"
    python3 -c 'print("{\"hosts\": \"" + "x" * (17 << 20) + "\"}")' >answers/GET_v1_hosts
    run --separate-stderr ask hosts
    refused "16 MiB"
    python3 -c 'print("[" * 100000)' >answers/GET_v1_hosts
    run --separate-stderr ask hosts
    refused "no JSON"
}
