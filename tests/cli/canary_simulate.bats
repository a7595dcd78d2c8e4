#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154
#
# kpcp-canary simulate: its options' ranges, its two outputs, and what can never be promoted.

load canary.sh

# simulate OPTION...: quick, unless an option says otherwise
simulate() {
    run --separate-stderr "$CANARY" simulate --campaigns 50 --no-second-opinion "$@"
}

# member PATH: a value of the last run's JSON, "verdict.hold"
member() {
    python3 -c '
import json, sys
value = json.loads(sys.argv[2])
for name in sys.argv[1].split("."):
    value = value[name]
print(value)
' "$1" "$output"
}

# between LOW VALUE HIGH
between() {
    awk -v low="$1" -v value="$2" -v high="$3" 'BEGIN { exit !(low <= value && value <= high) }' ||
        { echo "$2 is not between $1 and $3"; return 1; }
}

@test "shares of the conditions and of the verdicts, each with its standard error" {
    simulate
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    [[ $output == *"50 campaigns of 8 canaries and 8 controls"* ]]
    [[ $output == *"conditions, each counted by itself"* ]]
    [[ $output =~ promote\ +0\.[0-9]{4}\ +\+-\ 0\.[0-9]{4} ]]
    [[ $output =~ HOLD\ +0\.[0-9]{4}\ +\+-\ 0\.[0-9]{4} ]]
    absent ' $' <<<"$output"
}

@test "JSON has promote, rollback and hold, their standard errors, the verdicts and the set-up" {
    simulate --json --boot-sd 15% --host-sd 0.03 --errors t3 --seed 18446744073709551615
    [ "$status" -eq 0 ]
    for name in promote rollback hold; do
        between 0 "$(member $name)" 1
        between 0.000001 "$(member ${name}_se)" 0.08
        between 0 "$(member verdict.$name)" 1
    done
    sum=$(python3 -c 'import sys; print(sum(map(float, sys.argv[1:])))' \
        "$(member verdict.promote)" "$(member verdict.rollback)" "$(member verdict.hold)")
    between 0.999999 "$sum" 1.000001
    [ "$(member campaigns)" = 50 ]
    [ "$(member setup.boot_sd)" = 0.15 ]
    [ "$(member setup.host_sd)" = 0.03 ]
    [ "$(member setup.seed)" = 18446744073709551615 ]
    [ "$(member setup.errors)" = t3 ]
}

@test "the same seed gives the same bytes, another seed others" {
    simulate --json --errors lognormal --seed 5
    first=$output
    simulate --json --errors lognormal --seed 5
    [ "$output" = "$first" ]
    simulate --json --errors lognormal --seed 6 --campaigns 500
    [ "$output" != "$first" ]
}

@test "7% and 0.07 are the same" {
    simulate --json --boot-sd 7% --host-sd 2% --margin 10% --missing 0.1%
    first=$output
    simulate --json --boot-sd 0.07 --host-sd 0.02 --margin 0.1 --missing 0.001
    [ "$status" -eq 0 ]
    [ "$output" = "$first" ]
}

@test "rows of the promised table, within four standard errors" {
    simulate --json --campaigns 2000 --hosts 4 --controls 8 --boots 1
    between 0.33 "$(member promote)" 0.43
    simulate --json --campaigns 2000 --hosts 4 --controls 8 --ratio 1.1
    between 0.024 "$(member promote)" 0.072
    simulate --json --campaigns 2000 --boot-sd 15% --host-sd 3% --ratio 1.2
    between 0.685 "$(member rollback)" 0.775
}

@test "the second opinion takes away, never gives" {
    simulate --json --campaigns 300 --hosts 4 --controls 4
    alone=$(member promote)
    run --separate-stderr "$CANARY" simulate --campaigns 300 --hosts 4 --controls 4 --json
    between 0.1 "$(member promote)" "$alone"
    # Two against two reach p = 1/6 at best.
    run --separate-stderr "$CANARY" simulate --campaigns 50 --hosts 2 --controls 2 --boot-sd 0 --json
    [ "$(member promote)" = 0 ]
    simulate --hosts 2 --controls 2 --boot-sd 0.1% --host-sd 0.1% --json
    [ "$(member promote)" = 1 ]
}

@test "boots that are missing, one host, no controls: nothing but HOLD" {
    simulate --missing 100% --json
    [ "$(member hold)" = 1 ]
    for roster in "--hosts 1" "--controls 1" "--controls 0"; do
        # shellcheck disable=SC2086 # two words each
        simulate $roster --json
        [ "$status" -eq 0 ]
        [ "$(member hold)" = 1 ]
        [ "$(member verdict.hold)" = 1 ]
    done
}

@test "no spread at all is floored, not refused" {
    simulate --boot-sd 0 --host-sd 0 --json
    [ "$(member promote)" = 1 ]
    simulate --boot-sd 0 --host-sd 0 --ratio 1.2 --json
    [ "$(member verdict.rollback)" = 1 ]
}

@test "the brake: nothing at a ratio of 1, twice as slow in a few blocks" {
    simulate --hosts 4 --controls 8 --blocks 200 --json
    [ "$(member rollback)" = 0 ]
    [ "$(member hold)" = 1 ]
    [ "$(member brake.median)" = None ]
    simulate --hosts 4 --controls 8 --blocks 200 --ratio 2 --json
    [ "$(member rollback)" = 1 ]
    between 2 "$(member brake.median)" 5
    between 3 "$(member brake.p90)" 10
    simulate --hosts 4 --controls 8 --blocks 200 --ratio 2 --block-sd 20% --errors ar1
    [[ $output =~ rollback\ +1\.0000 ]]
    [[ $output =~ median\ +[2-6]\  ]]
    # A bound far above the truth makes it slow, not wrong.
    simulate --hosts 4 --controls 8 --blocks 200 --ratio 2 --block-bound 100% --json
    between 20 "$(member brake.median)" 200
}

@test "a host alone proves nothing to the brake" {
    simulate --hosts 1 --blocks 10
    refused "1 canaries" "at least 2"
    simulate --controls 0 --blocks 10
    refused "0 controls"
}

@test "every option has its bounds" {
    while read -r option bad; do
        simulate "--$option" "$bad"
        refused "--$option" "$bad"
    done <<'END'
hosts 0
hosts 10000
hosts 1.5
hosts -1
hosts 8x
controls 10000
controls -1
boots 0
boots 17
boot-sd 7
boot-sd -1%
boot-sd 101%
boot-sd nan
boot-sd %
boot-sd 7%%
host-sd 2
host-sd inf
level-sd 2
ratio 0
ratio -1
ratio 101
ratio nan
ratio 110%
margin 0
margin 11
missing 1.1
missing 101%
ar1 1
ar1 -1
blocks 0
blocks 100001
block-sd -1
block-sd 11
block-bound 0
block-bound nan
campaigns 0
campaigns 1000001
campaigns 1e4
seed -1
seed 18446744073709551616
END
}

@test "too many hosts together" {
    simulate --hosts 6000 --controls 6000
    refused "--hosts 6000 and --controls 6000" "at most 10000"
}

@test "what is misspelt gets the nearest name" {
    simulate --boots-sd 7%
    refused "--boots-sd" "--boot-sd"
    simulate --errors lognormle
    refused "lognormle" "lognormal"
    simulate --errors T3
    refused "T3" "t3"
    run --separate-stderr "$CANARY" simulat
    refused "simulate"
}

@test "values that are missing, values that are too much, operands" {
    simulate --hosts
    refused "--hosts needs a value"
    simulate --json=yes
    refused "--json takes no value"
    simulate somewhere.kpcp
    refused "takes options only" "somewhere.kpcp"
}

@test "output that nobody takes is an error" {
    [ -c /dev/full ]
    status=0
    "$CANARY" simulate --campaigns 5 --no-second-opinion >/dev/full 2>"$BATS_TEST_TMPDIR/err" || status=$?
    [ "$status" -eq 1 ]
    grep -q "standard output" "$BATS_TEST_TMPDIR/err"
}
