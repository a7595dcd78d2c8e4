#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154
#
# The agent's process without rights against a controller that is broken, or means it no good: what it keeps, what it
# goes on with, and what it does not take.

load talker.sh

token() { printf '%064d' 7 >state/talker/token; }

@test "only a refusal of the token itself costs the token" {
    echo "$WAIT" >answers/POST_v1_poll
    mv state/talker/host.pem good.pem
    token
    mkdir answers/POST_v1_enrol
    printf 'HTTP 404 Retry-After: 1\ncannot open ca.key: No such file or directory\n' >answers/POST_v1_enrol/1
    printf 'HTTP 403\n<html>forbidden by the proxy</html>\n' >answers/POST_v1_enrol/2
    printf 'HTTP 404\nthis token was never made here\n' >answers/POST_v1_enrol/3
    cp good.pem answers/POST_v1_enrol/4
    invent anyone
    start
    until_true 20 grep -q 'status 404: cannot open ca.key' log
    [ -s state/talker/token ]
    until_true 60 grep -q 'enrolled at .* as h1' log
    finish
    grep -q 'status 403: <html>forbidden' log
    absent 'make a new token' log
    [ ! -e state/talker/token ]
}

@test "each sentence that refuses a token is known, and what only resembles one is not" {
    invent anyone
    for text in "this token was never made here; ask" "this token is for another host than h1; ask" \
        "the token for h1 was used before, 3 s ago" "the token for h1 expired 3 s ago"; do
        rm -f lines state/talker/host.pem
        token
        printf 'HTTP 403\n%s\n' "$text" >answers/POST_v1_enrol
        start
        until_true 20 grep -qF "refused this host's enrolment as h1: $text" log
        [ ! -e state/talker/token ]
        finish
    done
    rm -f lines
    token
    printf 'HTTP 403\nThis token \n' >answers/POST_v1_enrol
    start
    until_true 20 grep -q 'status 403: This token' log
    finish
    [ -s state/talker/token ]
}

@test "a host that has a certificate reports on while a new token finds no answer" {
    echo "$WAIT" >answers/POST_v1_poll
    token
    printf 'HTTP 503 Retry-After: 600\nlater\n' >answers/POST_v1_enrol
    invent anyone
    start
    until_true 20 asked_times 3 "POST /v1/poll"
    finish
    [ "$(grep -c 'POST /v1/enrol' answers/log)" -eq 1 ]
    [ "$(grep -c 'status 503: later' log)" -eq 1 ]
    [ -s state/talker/token ]
}

@test "no order fails because the controller's own files are missing, or somebody else answers" {
    echo "$WAIT" >answers/POST_v1_poll
    mkdir answers/PUT_v1_recordings_r1_7
    printf 'HTTP 404 Retry-After: 1\ncannot open recordings: No such file or directory\n' >answers/PUT_v1_recordings_r1_7/1
    printf 'HTTP 403\nproxy\n' >answers/PUT_v1_recordings_r1_7/2
    printf 'HTTP 204\n' >answers/PUT_v1_recordings_r1_7/3
    invent
    start
    echo "upload r1/7" >&9
    until_true 60 grep -qx 'uploaded r1/7 ok' said
    finish
    [ "$(wc -l <said)" -eq 1 ]
}

@test "endless headers, odd times to wait, and words that would act on a terminal" {
    mkdir answers/POST_v1_poll
    { printf 'HTTP 200 X-Long: '; head -c 80000 /dev/zero | tr '\0' x; printf '\n%s\n' "$WAIT"; } >answers/POST_v1_poll/1
    printf 'HTTP 503 Retry-After: -5\n\033[2Ja\302\233b\342\200\256c\377\n' >answers/POST_v1_poll/2
    printf 'HTTP 503 Retry-After: soon\n\n' >answers/POST_v1_poll/3
    printf 'HTTP 429 Retry-After: Wed, 21 Oct 2015 07:28:00 GMT\nx\n' >answers/POST_v1_poll/4
    order 9223372036854775808 >answers/POST_v1_poll/5
    order 4 >answers/POST_v1_poll/6
    invent
    start
    until_true 120 grep -qF '"epoch":4' said
    finish
    [ "$(wc -l <said)" -eq 1 ]
    grep -q 'answered with more than' log
    grep -qF 'status 503: ?[2Ja?b?c?' log
    grep -q 'status 503: no reason was given' log
}

@test "another order with each poll: no faster than one a second" {
    mkdir answers/POST_v1_poll
    for n in 1 2 3 4 5; do
        order $((n + 1000000)) >"answers/POST_v1_poll/$n"
    done
    invent
    start
    SECONDS=0
    until_true 20 grep -qF '"epoch":1000005' said
    [ "$SECONDS" -ge 3 ]
    finish
    [ "$(wc -l <said)" -eq 5 ]
}
