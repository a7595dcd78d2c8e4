#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154
#
# The agent's process without rights against an invented controller: what it sends, what it hands on, what it believes,
# and how it waits. An actor that is nothing but words (talk) stands in for the process with rights.

load talker.sh

asked() { grep -qxF -- "$1" answers/log 2>/dev/null; }
sent() { grep -qF -- "$1" answers/body.*; }
body_of() { cat "answers/body.$1"; }

@test "a poll is the newest report, as it came; it goes on at the controller's pace" {
    echo "$WAIT" >answers/POST_v1_poll
    invent
    start
    until_true 20 asked_times 2 "POST /v1/poll"
    python3 -c 'import json, sys
d = json.load(sys.stdin)
assert d["release"] == "6.1.158-test" and d["outcome"] == "none", d' < <(body_of 1)
    cmp answers/body.1 answers/body.2
    echo "report running 5" >&9
    until_true 20 sent '"running"'
    finish
    [ ! -s said ]
    grep -q 'polling as h1' log
}

@test "an order goes to the actor as it came, once; not while one runs" {
    order 7 >answers/POST_v1_poll
    invent
    start
    until_true 20 grep -q '^reply' said
    diff <(echo "reply $(order 7)") said
    until_true 20 asked_times 4 "POST /v1/poll"
    [ "$(wc -l <said)" -eq 1 ]
    echo "report running 7" >&9
    until_true 20 sent '"running"'
    order 8 >answers/POST_v1_poll.new
    mv answers/POST_v1_poll.new answers/POST_v1_poll
    n=$(wc -l <answers/log)
    until_true 20 asked_times $((n + 3)) "POST /v1/poll"
    [ "$(wc -l <said)" -eq 1 ]
    echo "report done 7" >&9
    until_true 20 grep -qF '"epoch":8' said
    finish
    [ "$(wc -l <said)" -eq 2 ]
}

@test "answers that cannot be used change nothing, are said once, and are asked for again" {
    mkdir answers/POST_v1_poll
    echo '{"version":1,"wait_s":1,"order":{"epoch":1}}' >answers/POST_v1_poll/1
    echo '{"version":2,"wait_s":1}' >answers/POST_v1_poll/2
    printf 'HTTP 307 Location: https://127.0.0.1:%s/v1/elsewhere\n' 1 >answers/POST_v1_poll/3
    printf 'HTTP 503 Retry-After: 1\nbusy\nsecond line\n' >answers/POST_v1_poll/4
    head -c 200000 /dev/zero | tr '\0' ' ' >answers/POST_v1_poll/5
    order 3 >answers/POST_v1_poll/6
    invent
    start
    until_true 120 grep -qF '"epoch":3' said
    finish
    [ "$(wc -l <said)" -eq 1 ]
    grep -q 'answered a poll with what cannot be used' log
    grep -q 'status 307' log
    grep -q 'status 503: busy$' log
    grep -q 'more than the 98304 bytes' log
    [ "$(grep -c elsewhere answers/log)" -eq 0 ]
}

@test "a recording goes up under its order's name, and the actor is told" {
    echo "$WAIT" >answers/POST_v1_poll
    printf 'HTTP 204\n' >answers/PUT_v1_recordings_r1_7
    printf 'HTTP 409\nthis order is another host'"'"'s\nmore\n' >answers/PUT_v1_recordings_r1_8
    invent
    start
    echo "upload r1/7" >&9
    until_true 20 grep -qx 'uploaded r1/7 ok' said
    grep -lqx recorded answers/body.*
    echo "upload r1/8" >&9
    until_true 20 grep -qx "uploaded r1/8 refused this order is another host's" said
    rm state/spool/recording.kpcp
    echo "upload r1/9" >&9
    until_true 20 grep -q '^uploaded r1/9 refused .*recording.kpcp' said
    head -c 8388609 /dev/zero >state/spool/recording.kpcp
    echo "upload r1/10" >&9
    until_true 20 grep -q '^uploaded r1/10 refused .*larger than the 8388608 bytes' said
    finish
    [ "$(grep -c PUT answers/log)" -eq 2 ]
}

@test "an upload that fails for now is tried again, while polls go on" {
    echo "$WAIT" >answers/POST_v1_poll
    mkdir answers/PUT_v1_recordings_r1_7
    printf 'HTTP 503\nlater\n' >answers/PUT_v1_recordings_r1_7/1
    printf 'HTTP 429 Retry-After: 1\n' >answers/PUT_v1_recordings_r1_7/2
    printf 'HTTP 408\n' >answers/PUT_v1_recordings_r1_7/3
    printf 'HTTP 204\n' >answers/PUT_v1_recordings_r1_7/4
    invent
    start
    echo "upload r1/7" >&9
    until_true 120 grep -qx 'uploaded r1/7 ok' said
    until_true 20 asked "POST /v1/poll"
    finish
    [ "$(wc -l <said)" -eq 1 ]
    [ "$(grep -c PUT answers/log)" -eq 4 ]
}

@test "names that would lead elsewhere on the controller end the talker" {
    echo "$WAIT" >answers/POST_v1_poll
    invent
    for name in "../v1/poll/7" "r1/7/../8" "R1/7" "r1/x" "r1/" "/7" "r1/0" "r1" "..../7" "r1/7?x=1" "r1%2f/7"; do
        rm -f lines
        start
        echo "upload $name" >&9
        exec 9>&-
        ended=0
        wait "$TALKER" || ended=$?
        echo "$name: $ended"
        [ "$ended" -eq 1 ]
        grep -q "no order's name" log
    done
    [ ! -e answers/log ] || absent PUT answers/log
}

@test "a controller of another authority is told nothing, not even the token" {
    echo "$WAIT" >answers/POST_v1_poll
    rm state/talker/host.pem
    printf '%064d' 7 >state/talker/token
    invent anyone
    "$KPCP" init others --server IP:127.0.0.1 >/dev/null
    sed -i "s|^ca = .*|ca = $PWD/others/ca.pem|" agent.conf
    start
    until_true 30 grep -q 'is not the controller that' log
    finish
    [ ! -e answers/log ]
    [ -s state/talker/token ]
}

@test "a controller at another name is not believed" {
    echo "$WAIT" >answers/POST_v1_poll
    rm keys/server.pem
    openssl req -new -key keys/server.key -out csr -subj /O=kpcp-server/CN=other 2>/dev/null
    openssl x509 -req -in csr -CA keys/ca.pem -CAkey keys/ca.key -days 1 -out keys/server.pem \
        -extfile <(echo "subjectAltName = DNS:other") 2>/dev/null
    invent
    start
    until_true 30 grep -q 'is not the controller that' log
    finish
    [ ! -e answers/log ]
}

@test "a certificate that the controller does not take is explained" {
    echo "$WAIT" >answers/POST_v1_poll
    "$KPCP" init others --server IP:127.0.0.1 >/dev/null
    openssl req -new -key state/talker/host.key -out csr -subj /O=kpcp-host/OU=lab/CN=h1 2>/dev/null
    openssl x509 -req -in csr -CA others/ca.pem -CAkey others/ca.key -days 1 -out state/talker/host.pem 2>/dev/null
    invent
    start
    until_true 30 grep -q "closed the connection.*enrol again with a new token" log
    finish
    [ ! -e answers/log ]
}

@test "proxies and authorities of the environment are not for it" {
    echo "$WAIT" >answers/POST_v1_poll
    invent
    export https_proxy=http://127.0.0.1:1 HTTPS_PROXY=http://127.0.0.1:1 ALL_PROXY=http://127.0.0.1:1
    start
    until_true 20 asked "POST /v1/poll"
    finish
}

@test "a controller that is away, or takes connections and is silent, is waited for" {
    invent silent
    start
    # Nothing comes, and frames are taken all the same.
    for i in 1 2 3; do echo "report done $i" >&9; done
    kill "$SERVER"
    wait "$SERVER" 2>/dev/null || :
    until_true 30 grep -qE 'cannot be reached|closed the connection' log
    kill -0 "$TALKER"
    finish
    [ ! -s said ]
}

@test "enrolment: the request's key stays, the certificate is checked, the token goes" {
    echo "$WAIT" >answers/POST_v1_poll
    cp state/talker/host.pem good.pem
    rm state/talker/host.pem
    printf '%064d' 7 >state/talker/token
    # The first answer is another host's certificate, the second none, the third the right one.
    openssl req -new -key state/talker/host.key -out csr2 -subj /O=kpcp-host/OU=lab/CN=h2 2>/dev/null
    mkdir answers/POST_v1_enrol
    openssl x509 -req -in csr2 -CA keys/ca.pem -CAkey keys/ca.key -days 1 -out answers/POST_v1_enrol/1 2>/dev/null
    echo hello >answers/POST_v1_enrol/2
    cp good.pem answers/POST_v1_enrol/3
    key=$(sha256sum <state/talker/host.key)
    invent anyone
    start
    until_true 60 grep -q 'enrolled at .* as h1' log
    until_true 20 asked "POST /v1/poll"
    finish
    grep -q "gave a certificate to kpcp-host 'h2'" log
    [ ! -e state/talker/token ]
    cmp good.pem state/talker/host.pem
    [ "$key" = "$(sha256sum <state/talker/host.key)" ]
    python3 -c 'import json, sys
d = json.load(sys.stdin)
assert d["token"] == "7".zfill(64) and d["host"] == "h1" and "CERTIFICATE REQUEST" in d["csr"], d' <answers/body.1
    # A secret is in no log.
    absent "$(printf '%064d' 7)" log said
}

@test "a token that is refused is dropped and explained; nothing else is asked" {
    rm state/talker/host.pem
    printf '%064d' 7 >state/talker/token
    printf 'HTTP 403\nthis token was used\n' >answers/POST_v1_enrol
    invent anyone
    start
    until_true 20 grep -q "refused this host's enrolment as h1: this token was used; make a new token" log
    [ ! -e state/talker/token ]
    echo "report none 1" >&9
    finish
    [ "$(wc -l <answers/log)" -eq 1 ]
}
