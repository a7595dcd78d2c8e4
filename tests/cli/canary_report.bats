#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154
#
# kpcp-canary report: one recording, shown; and the program's own help and version.

load canary.sh

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    "$MAKE" --out a.kpcp --host host-a "${NEW[@]}"
}

@test "a recording is shown as a table and a picture, as it was looked at" {
    "$CANARY" report a.kpcp >out
    diff "$BATS_TEST_DIRNAME/golden/report.txt" out
}

@test "--json parses, agrees with the table, and is the same bytes each time" {
    "$CANARY" report --json a.kpcp >one
    "$CANARY" report --json a.kpcp >two
    cmp one two
    python3 - one <<'END'
import json, math, sys
d = json.load(open(sys.argv[1], encoding="utf-8"))
assert d["format"] == "kpcp-recording/1" and d["host"] == "host-a" and d["storms"] == 30
assert d["response"]["samples"] == 30 * 340
assert d["service"]["p99_ns"] < d["response"]["p99_ns"] <= d["response"]["max_ns"]
assert abs(math.log(d["response"]["p99_ns"] / 1e9) - d["ln"]["p99"]) < 1e-9
END
}

@test "an empty recording is shown without inventing numbers" {
    "$MAKE" --out empty.kpcp --storms 0
    "$CANARY" report empty.kpcp >out
    grep -q 'no operations' out
    absent -i nan out
    "$CANARY" report --json empty.kpcp | python3 -c 'import json, sys
d = json.load(sys.stdin)
assert d["response"]["p99_ns"] is None and d["ln"]["exit"] is None and d["storms"] == 0'
}

@test "a machine that could not keep the pace is told of" {
    "$MAKE" --out late.kpcp --samples 340 --missed 85
    "$CANARY" report late.kpcp >out
    grep -q '^warning: 2,550 of 10,200 operations started a period or more late' out
    "$MAKE" --out late.kpcp --samples 340 --missed 84
    "$CANARY" report late.kpcp >out
    absent warning out
}

@test "no file, two files, a cut one are refused" {
    run --separate-stderr "$CANARY" report
    refused "kpcp-canary report FILE"
    run --separate-stderr "$CANARY" report a.kpcp a.kpcp
    refused "kpcp-canary report FILE"
    head -c 300 a.kpcp >cut.kpcp
    run --separate-stderr "$CANARY" report cut.kpcp
    refused cut.kpcp truncated
}

@test "help and version go to standard output, exit 0" {
    run --separate-stderr "$CANARY" --help
    [ "$status" -eq 0 ]
    for word in record compare report; do [[ $output == *"$word"* ]]; done
    run --separate-stderr "$CANARY" record --help
    [ "$status" -eq 0 ]
    for word in --out --storms --warmup --storm --storm-cpus --victim-cpus --burst --period --window --lead --seed \
        --max-memory-share --force --verbose; do
        [[ $output == *"$word"* ]]
    done
    run --separate-stderr "$CANARY" --version
    [ "$status" -eq 0 ]
    [[ $output =~ ^kpcp-canary\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
}
