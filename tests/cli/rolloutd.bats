#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154,SC2030,SC2031
#
# kpcp-rolloutd against clients that mean it no good, or that are broken: each time the controller must answer the next
# honest question, and nothing of what was sent may have changed anything.

load kpcp.sh

ROLLOUTD=$BUILD/rollout/kpcp-rolloutd

start_controller() {
    "$ROLLOUTD" --config keys/rolloutd.conf 2>log 3>&- &
    SERVER=$!
    until_true 20 grep -q 'listening on' log
}

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    [ -x "$ROLLOUTD" ]
    keys keys
    sed -i 's/^address = .*/address = 127.0.0.1/; s/^port = .*/port = 0/' keys/rolloutd.conf
    start_controller
    port=$(sed -n 's/.*listening on .* port //p' log)
    url=https://127.0.0.1:$port
    sed -i "s|^url = .*|url = $url|" keys/kpcp.conf
}

teardown() { stop_server; }

# Still the same process, and it answers.
unharmed() { kill -0 "$SERVER" && ask hosts --json | python3 -c 'import json, sys; assert json.load(sys.stdin) == {"hosts": []}'; }

# as WHO METHOD PATH [CURL-OPTION...] -> the status alone; WHO: operator, or nobody
as() {
    local who=()
    [ "$1" = nobody ] || who=(--cert "keys/$1.pem" --key "keys/$1.key")
    curl -s -o body -w '%{http_code}' --max-time 20 --path-as-is --cacert keys/ca.pem "${who[@]}" -X "$2" "${@:4}" "$url$3"
}

# talk SECONDS COMMANDS : python with the connection's tools at hand
talk() {
    PORT=$port timeout "$1" python3 -c "
import os, socket, ssl, time
port = int(os.environ['PORT'])
def plain(): return socket.create_connection(('127.0.0.1', port), 10)
def tls(who=None):
    c = ssl.create_default_context(cafile='keys/ca.pem')
    if who: c.load_cert_chain('keys/%s.pem' % who, 'keys/%s.key' % who)
    return c.wrap_socket(plain(), server_hostname='127.0.0.1')
$2"
}

@test "bytes that are no TLS, and plain HTTP, end their connection alone" {
    talk 60 '
for text in (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", os.urandom(4096), b"\x16\x03\x01\xff\xff" + b"A" * 65535, b""):
    s = plain()
    try:
        s.sendall(text)
        s.settimeout(10)
        if text: assert b"200" not in s.recv(4096)
    except (ConnectionError, socket.timeout): pass
    s.close()'
    unharmed
}

@test "heads and bodies past their bounds are refused, not read" {
    [ "$(as operator GET "/$(printf 'a%.0s' {1..20000})")" != 200 ]
    [ "$(as operator GET /v1/hosts -H "x: $(printf 'b%.0s' {1..60000})")" != 200 ]
    head -c 3000000 /dev/zero >big
    [ "$(as operator POST /v1/plans --data-binary @big)" = 413 ]
    [ "$(as operator POST /v1/plans -H 'Content-Length: 99999999999999999999' -d x)" != 200 ]
    [ "$(as operator POST /v1/plans -H 'Transfer-Encoding: chunked' --data-binary @big)" != 200 ]
    unharmed
}

@test "paths that lead elsewhere find nothing" {
    local path
    for path in /../../etc/passwd /v1/rollouts/..%2f..%2fetc /v1/hosts/%00 /v1/hosts/a%0ab //v1//hosts /v1/hosts/.. \
        "/v1/rollouts/' OR 1=1 --" /v1/recordings/../hosts; do
        [[ $(as operator GET "${path// /%20}") =~ ^(400|404|405)$ ]] || { echo "$path: $(cat body)"; return 1; }
    done
    unharmed
}

@test "methods and bodies that do not belong are refused, each with a sentence" {
    [ "$(as operator DELETE /v1/hosts)" = 405 ]
    [ "$(as operator GET /nowhere)" = 404 ]
    [ "$(as operator POST /v1/tokens -d '{"host":"h1"')" = 400 ]
    [ "$(as operator POST /v1/tokens -d '{"host":"../h1","cluster":"big","ttl_s":3600}')" = 400 ]
    [ "$(as operator POST /v1/tokens -d '{"host":"h1","cluster":"big","ttl_s":3600,"more":1}')" = 400 ]
    [ "$(as operator POST /v1/tokens -d '{"host":"h1","host":"h2","cluster":"big","ttl_s":3600}')" = 400 ]
    [ "$(as operator GET '/v1/history?limit=-1')" = 400 ]
    [ "$(as operator POST /v1/rollouts -d '{"directive":"[rollout]","signature":"AAAA"}')" != 201 ]
    [ "$(wc -l <body)" -le 1 ]
    [ -s body ]
    unharmed
}

@test "without a certificate only enrolment is there" {
    local path
    for path in /v1/hosts /v1/rollouts /v1/history /v1/rollouts/x; do [ "$(as nobody GET $path)" = 403 ]; done
    for path in /v1/poll /v1/tokens /v1/plans /v1/rollouts /v1/rollouts/x/start; do
        [ "$(as nobody POST $path -d '{}')" = 403 ] || { echo "$path"; return 1; }
    done
    [ "$(as nobody PUT /v1/recordings/x/1 -d x)" = 403 ]
    [[ $(as nobody POST /v1/enrol -d '{}') =~ ^4 ]]
    unharmed
}

@test "an operator's certificate is no host's" {
    [ "$(as operator POST /v1/poll -d '{}')" = 403 ]
    [ "$(as operator PUT /v1/recordings/x/1 -d x)" = 403 ]
    unharmed
}

@test "two hundred silent connections, and one that sends a byte a second, keep nobody out" {
    talk 60 '
silent = [plain() for _ in range(200)]
slow = tls("operator")
slow.sendall(b"GET /v1/ho")
import subprocess
for i in range(3):
    time.sleep(0.5)
    slow.sendall(b"s")
assert subprocess.run(["curl", "-s", "--max-time", "20", "--cacert", "keys/ca.pem", "--cert", "keys/operator.pem", "--key",
    "keys/operator.key", "https://127.0.0.1:%d/v1/hosts" % port], capture_output=True).stdout.startswith(b"{\"hosts\"")'
    unharmed
}

@test "requests that come all at once are answered one after the other" {
    talk 60 '
s = tls("operator")
n = 50
s.sendall(b"GET /v1/hosts HTTP/1.1\r\nHost: x\r\n\r\n" * (n - 1) + b"GET /v1/hosts HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
got = b""
while True:
    part = s.recv(65536)
    if not part: break
    got += part
assert got.count(b"HTTP/1.1 200") == n, got.count(b"HTTP/1.1 200")'
    unharmed
}

@test "clients that leave in the middle of an answer or a body leave nothing behind" {
    talk 60 '
for i in range(30):
    s = tls("operator")
    s.sendall(b"GET /v1/hosts HTTP/1.1\r\nHost: x\r\n\r\n" * 20)
    s.close()
    s = tls("operator")
    s.sendall(b"POST /v1/plans HTTP/1.1\r\nHost: x\r\nContent-Length: 5000\r\n\r\nabc")
    s.close()'
    unharmed
    [ "$(find "/proc/$SERVER/fd" -lname 'socket:*' | wc -l)" -lt 20 ]
}

@test "one token that twenty clients bring at the same moment enrols one" {
    local token i made=0
    token=$(ask token h1 --cluster big)
    for i in {1..20}; do
        openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "k$i" -subj /CN=h1 2>/dev/null |
            python3 -c 'import json, sys; print(json.dumps({"token": sys.argv[1], "version": 1, "host": "h1", "csr": sys.stdin.read()}))' \
                "$token" >"enrol$i"
    done
    for i in {1..20}; do
        curl -s -o "cert$i" -w '%{http_code}\n' --max-time 30 --cacert keys/ca.pem -d "@enrol$i" "$url/v1/enrol" >"status$i" 3>&- &
    done
    for i in {1..20}; do until_true 30 test -s "status$i"; done
    for i in {1..20}; do [ "$(cat "status$i")" != 200 ] || made=$((made + 1)); done
    [ "$made" -eq 1 ]
    [ "$(ask hosts --json | grep -o '"name"' | wc -l)" -eq 1 ]
    kill -0 "$SERVER"
}

# starts_not WORD...: the controller ends at once, and says so
starts_not() {
    run --separate-stderr timeout 20 "$ROLLOUTD" --config keys/rolloutd.conf
    [ "$status" -eq 1 ] || { echo "status $status: $stderr"; return 1; }
    local word
    for word; do [[ $stderr == *"$word"* ]] || { echo "without $word: $stderr"; return 1; }; done
}

@test "what is wrong with the controller's own keys ends it at the start" {
    stop_server
    mv keys/ca.key hidden
    starts_not "hosts could not be enrolled" ca.key
    cp keys/operator.key keys/ca.key
    starts_not "hosts could not be enrolled" "do not belong together"
    mv hidden keys/ca.key
    echo x >keys/approver.pub
    starts_not "no plan could be approved" approver.pub
    rm keys/approver.pub
    starts_not "no plan could be approved" approver.pub
}

@test "a key that is lost while it runs is no refusal of a host" {
    local token
    token=$(ask token h1 --cluster big)
    openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout k -subj /CN=h1 2>/dev/null |
        python3 -c 'import json, sys; print(json.dumps({"token": sys.argv[1], "version": 1, "host": "h1", "csr": sys.stdin.read()}))' \
            "$token" >enrol
    mv keys/ca.key hidden
    [ "$(as nobody POST /v1/enrol -d @enrol)" = 503 ]
    echo x >keys/ca.key
    [ "$(as nobody POST /v1/enrol -d @enrol)" = 503 ]
    mv keys/approver.pub hidden.pub
    [ "$(as operator POST /v1/rollouts -d '{"directive":"[rollout]","signature":"AAAA"}')" = 503 ]
    mv hidden.pub keys/approver.pub
    [ "$(as operator POST /v1/rollouts -d '{"directive":"[rollout]","signature":"AAAA"}')" = 400 ]
    mv hidden keys/ca.key
    [ "$(as nobody POST /v1/enrol -d @enrol)" = 200 ]
}

# enrolled NAME FILE: makes FILE.key and FILE.pem by a new token
enrolled() {
    local token
    token=$(ask token "$1" --cluster big)
    openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "keys/$2.key" -subj "/CN=$1" 2>/dev/null |
        python3 -c 'import json, sys; print(json.dumps({"token": sys.argv[1], "version": 1, "host": sys.argv[2], "csr": sys.stdin.read()}))' \
            "$token" "$1" >"$2.enrol"
    [ "$(as nobody POST /v1/enrol -d "@$2.enrol")" = 200 ]
    mv body "keys/$2.pem"
}

# report FILE [MEMBER=VALUE...]
report() {
    python3 -c 'import json, sys, uuid
r = {"version": 1, "state": "IDLE", "epoch": 0, "outcome": "none", "reason": "", "rollout": "", "release": "6.1.0", "build_id": "",
     "boot_id": str(uuid.uuid4()), "default_entry": "debian", "model": "none", "kexec_booted": False, "pcp_batch_scale_max": 5,
     "attempts": 0, "uptime_s": 60, "serial": 0, "agent": "0.1.0"}
r.update(x.split("=") for x in sys.argv[2:])
json.dump(r, open(sys.argv[1], "w"))' "$@"
}

@test "a certificate from before the host's newest enrolment is nobody's" {
    enrolled h1 stolen
    report now
    [ "$(as stolen POST /v1/poll -d @now)" = 200 ]
    ask retire h1
    [ "$(as stolen POST /v1/poll -d @now)" = 403 ]
    enrolled h1 newer
    [ "$(as stolen POST /v1/poll -d @now)" = 403 ]
    grep -q 'enrolled anew since this certificate was made' body
    [ "$(as newer POST /v1/poll -d @now)" = 200 ]
    # A lost answer: the same request gets the same certificate, and that one counts.
    [ "$(as nobody POST /v1/enrol -d @newer.enrol)" = 200 ]
    cmp body keys/newer.pem
    [ "$(as newer POST /v1/poll -d @now)" = 200 ]
    # A database from before certificates were kept: who is enrolled stays so.
    stop_server
    python3 -c "import sqlite3; d = sqlite3.connect('keys/state/kpcp.db'); d.execute(\"UPDATE hosts SET fingerprint = ''\"); d.commit()"
    sed -i "s/^port = .*/port = $port/" keys/rolloutd.conf
    start_controller
    [ "$(as newer POST /v1/poll -d @now)" = 200 ]
}

# measured_plan: three canaries and three controls, who begin with a measurement each
measured_plan() {
    cat <<'PLAN'
[rollout]
name = m1
clusters = big

[preset]
name = latency
settings = vm.pcp_batch_scale_max=0

[judge]
canaries = 3
controls = 3
boots = 1
storms = 4
endpoints = p99, exit
min-samples-p99 = 1000
min-samples-exit = 4

[waves]
budget = 6
PLAN
}

@test "a recording's place is kept for a host that is to send one, once, and while it does" {
    local i
    for i in {1..6}; do
        enrolled "h$i" "h$i"
        report now
        [ "$(as "h$i" POST /v1/poll -d @now)" = 200 ]
    done
    head -c 8388608 /dev/zero >big
    [ "$(as h1 PUT /v1/recordings/m1/1 --data-binary @big)" = 409 ]
    grep -q 'no order 1 of rollout m1 to measure is out to h1' body
    talk 60 '
s = tls("h1")
s.sendall(b"PUT /v1/recordings/m1/1 HTTP/1.1\r\nHost: x\r\nContent-Length: 8388608\r\n\r\n")
assert b" 409 " in s.recv(4096)'
    measured_plan >m1.plan
    ask approve m1.plan
    ask start m1
    ordered() { [ "$(as "$1" POST /v1/poll -d @now)" = 200 ] && grep -q '"verb": *"measure"' body; }
    until_true 20 ordered h1
    until_true 20 ordered h2
    talk 60 '
def announce(who):
    s = tls(who)
    s.sendall(b"PUT /v1/recordings/m1/1 HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 8388608\r\n\r\n")
    s.settimeout(20)
    return s
many = [announce("h1") for _ in range(40)]
other = announce("h2")
assert b" 100 " in other.recv(4096)
began = time.time()
late = [s.recv(4096) for s in many[:-1]]
assert all(not x or b" 100 " in x for x in late), late
assert not many[0].recv(4096)
# The last one is there until it stands still for too long; the other one goes on.
while time.time() - began < 13:
    other.sendall(b"x" * 65536)
    time.sleep(0.5)
many[-1].recv(4096)
assert not many[-1].recv(4096)
other.settimeout(1)
try: assert not "ended: %r" % other.recv(4096)
except socket.timeout: pass'
    kill -0 "$SERVER"
}

@test "priorities are for the journal alone, and a configuration that is missing has a next step" {
    [ "$(head -c 9 log)" = listening ]
    run --separate-stderr "$ROLLOUTD" --config none.conf
    refused "no configuration none.conf" --config "kpcp init"
    [ "${stderr:0:1}" = k ]
    # What systemd does: the variable names the very stream.
    : >journal
    stream=$(stat -c %d:%i journal)
    JOURNAL_STREAM=$stream "$ROLLOUTD" --config none.conf 2>>journal || :
    grep -q '^<3>kpcp-rolloutd: ' journal
    # What is started below a service and writes elsewhere has the variable, too.
    JOURNAL_STREAM=$stream "$ROLLOUTD" --config none.conf 2>elsewhere || :
    grep -q '^kpcp-rolloutd: ' elsewhere
    for bad in : 1 1: :1 x:y 99999999999999999999999999:1; do
        JOURNAL_STREAM=$bad "$ROLLOUTD" --config none.conf 2>elsewhere || :
        grep -q '^kpcp-rolloutd: ' elsewhere
    done
}
