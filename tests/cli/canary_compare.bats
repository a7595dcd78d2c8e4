#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154
#
# kpcp-canary compare: verdicts and their exit codes, and everything that must never become a verdict.

load canary.sh

setup_file() {
    fleet "$BATS_FILE_TMPDIR/fleet"
}

setup() {
    cp -r "$BATS_FILE_TMPDIR/fleet" "$BATS_TEST_TMPDIR/fleet"
    cd "$BATS_TEST_TMPDIR/fleet" || return
}

@test "a kernel that is no worse is promoted, exit 0, and the whole output is as it was looked at" {
    compare new >out
    diff "$BATS_TEST_DIRNAME/golden/compare-promote.txt" out
}

@test "a slow kernel is taken back, exit 2, with reasons" {
    run --separate-stderr compare slow
    [ "$status" -eq 2 ]
    [[ $output == *"verdict: ROLLBACK"* ]]
    [[ $output == *"p99 is proven worse"* ]]
    [[ $output == *"6.1.158-slow"* ]]
    [ -z "$stderr" ]
}

@test "without controls there is an estimate, HOLD, exit 3, and why" {
    run --separate-stderr "$CANARY" compare canary-?-old.kpcp -- canary-?-slow.kpcp
    [ "$status" -eq 3 ]
    [[ $output == *"verdict: HOLD"* ]]
    [[ $output == *"There are no controls"* ]]
    [[ $output == *"estimate only"* ]]
    [[ $output == *"the default one"* ]]
    [[ $output =~ p99\ +[23]\.[0-9]+\ +- ]]
}

@test "a host without its new recording is HOLD, not an error and not a pass" {
    rm canary-2-new.kpcp
    run --separate-stderr compare new
    [ "$status" -eq 3 ]
    [[ $output == *"canary-2"* ]]
}

@test "a control left out is HOLD" {
    rm control-2-old.kpcp control-2-new.kpcp
    run --separate-stderr compare new
    [ "$status" -eq 3 ]
    [[ $output == *"2 controls came, the plan has 3"* ]]
}

@test "too few samples and too few storms are HOLD" {
    "$MAKE" --out canary-2-new.kpcp --host canary-2 --boot 200 --samples 100 "${NEW[@]}"
    run --separate-stderr compare new
    [ "$status" -eq 3 ]
    [[ $output == *"3000 samples of 10000"* ]]
    "$MAKE" --out canary-2-new.kpcp --host canary-2 --boot 200 --samples 1000 --storms 29 --planned 30 "${NEW[@]}"
    run --separate-stderr compare new
    [ "$status" -eq 3 ]
    [[ $output == *"29 storms, the plan has 30"* ]]
}

@test "operations that were given up make HOLD: the longest waits are not among the samples" {
    "$MAKE" --out canary-2-new.kpcp --host canary-2 --boot 200 --samples 339 --missed 1 "${NEW[@]}" --scale 0.97 --exit-scale 0.98
    run --separate-stderr compare new
    [ "$status" -eq 3 ]
    [[ $output == *"p99 has no value"* ]]
}

@test "a recording without any operation is HOLD" {
    "$MAKE" --out canary-2-new.kpcp --host canary-2 --boot 200 --samples 0 "${NEW[@]}"
    run --separate-stderr compare new
    [ "$status" -eq 3 ]
    [[ $output == *"p99 has no value"* ]]
}

@test "a recording cut anywhere is refused, and so are bytes after its end" {
    size=$(stat -c %s canary-1-new.kpcp)
    cp canary-1-new.kpcp whole
    for keep in 0 1 7 9 11 60 $((size / 3)) $((size / 2)) $((size - 100)) $((size - 7)) $((size - 1)); do
        head -c "$keep" whole >canary-1-new.kpcp
        run --separate-stderr compare new
        refused "canary-1-new.kpcp" "nothing was compared"
    done
    cat whole <(echo) >canary-1-new.kpcp
    run --separate-stderr compare new
    refused "canary-1-new.kpcp" "follow the end"
}

@test "a changed byte is refused" {
    size=$(stat -c %s canary-1-new.kpcp)
    for at in 3 20 100 $((size / 2)) $((size - 3)); do
        cp canary-1-new.kpcp flipped
        printf '\x5a\xa5' | dd of=flipped bs=1 seek="$at" conv=notrunc status=none
        run --separate-stderr "$CANARY" compare canary-1-old.kpcp -- flipped
        refused "flipped"
    done
}

@test "a recording that was not finished is refused" {
    "$MAKE" --out canary-1-new.kpcp --host canary-1 --boot 200 --no-end "${NEW[@]}"
    run --separate-stderr compare new
    refused "canary-1-new.kpcp" "truncated"
}

@test "another histogram layout is refused" {
    "$MAKE" --out canary-1-new.kpcp --host canary-1 --boot 200 --layout log-linear-64x30-64ns "${NEW[@]}"
    run --separate-stderr compare new
    refused "canary-1-new.kpcp" log-linear-64x30-64ns log-linear-32x30-64ns
}

@test "another probe is refused, with both files and both values" {
    "$MAKE" --out canary-1-new.kpcp --host canary-1 --boot 200 --probe victim-thp/1 "${NEW[@]}"
    run --separate-stderr compare new
    refused canary-1-old.kpcp canary-1-new.kpcp victim-thp/1 victim-4k-active/1
}

@test "another shape is refused, with both files and both values" {
    "$MAKE" --out control-3-new.kpcp --host control-3 --boot 200 --burst 256 "${OLD[@]}"
    run --separate-stderr compare new
    refused canary-1-old.kpcp control-3-new.kpcp 128 256
}

@test "two new kernels, and a control on a new one, are refused" {
    "$MAKE" --out canary-2-new.kpcp --host canary-2 --boot 200 "${NEW[@]}" --build 7
    run --separate-stderr compare new
    refused canary-1-new.kpcp canary-2-new.kpcp "one new kernel"
    "$MAKE" --out canary-2-new.kpcp --host canary-2 --boot 200 "${NEW[@]}" --pcp-scale 0
    run --separate-stderr compare new
    refused "pcp_batch_scale_max 5" "pcp_batch_scale_max 0"
    "$MAKE" --out canary-2-new.kpcp --host canary-2 --boot 200 "${NEW[@]}"
    "$MAKE" --out control-2-new.kpcp --host control-2 --boot 201 "${NEW[@]}"
    run --separate-stderr compare new
    refused canary-1-old.kpcp control-2-new.kpcp "controls must stay"
}

@test "canaries that came up with the old kernel again are refused, not promoted" {
    for h in 1 2 3; do "$MAKE" --out canary-$h-new.kpcp --host canary-$h --boot 20$h --seed 20$h "${OLD[@]}"; done
    run --separate-stderr compare new
    refused canary-1-old.kpcp canary-1-new.kpcp "one kernel" 6.1.158-stock "not measured"
    # Another setting of the sysctl is something new.
    for h in 1 2 3; do "$MAKE" --out canary-$h-new.kpcp --host canary-$h --boot 20$h --seed 20$h "${OLD[@]}" --pcp-scale 5; done
    compare new >/dev/null
}

@test "a boot that comes twice, a host in both arms, two clocks are refused" {
    cp canary-1-new.kpcp canary-9-new.kpcp
    run --separate-stderr compare new
    refused canary-1-new.kpcp canary-9-new.kpcp "same recording"
    "$MAKE" --out canary-9-new.kpcp --host canary-1 --boot 2 --seed 99 "${NEW[@]}"
    run --separate-stderr compare new
    refused canary-1-new.kpcp canary-9-new.kpcp "same boot" --setting
    rm canary-9-new.kpcp
    run --separate-stderr "$CANARY" compare canary-1-old.kpcp -- canary-1-old.kpcp
    refused "same recording"
    "$MAKE" --out control-1-old.kpcp --host canary-1 --boot 200 "${OLD[@]}"
    run --separate-stderr compare new
    refused control-1-old.kpcp "both a canary and a control"
    "$MAKE" --out control-1-old.kpcp --host control-1 --boot 200 --clocksource hpet "${OLD[@]}"
    run --separate-stderr compare new
    refused "two clocks, hpet and tsc"
}

# settings SCALE: three canaries whose new recordings are at SCALE, three controls; one kernel, one boot each
settings() {
    local h
    for h in 1 2 3; do
        "$MAKE" --out canary-$h-old.kpcp --host canary-$h --boot 30$h --seed 1$h "${NEW[@]}"
        "$MAKE" --out canary-$h-new.kpcp --host canary-$h --boot 30$h --seed 2$h "${NEW[@]}" --pcp-scale "$1" --scale 0.97
        "$MAKE" --out control-$h-old.kpcp --host control-$h --boot 40$h --seed 3$h "${NEW[@]}"
        "$MAKE" --out control-$h-new.kpcp --host control-$h --boot 40$h --seed 4$h "${NEW[@]}"
    done
}

@test "--setting compares two settings of one kernel in one boot, and says so in table and JSON" {
    settings 0
    run --separate-stderr compare new
    refused canary-1-old.kpcp canary-1-new.kpcp "same boot"
    compare new --setting >out
    grep -qx 'kernel      6.1.158-kpcp (build-id [0-9a-f]*)' out
    grep -qx 'old setting pcp_batch_scale_max 5' out
    grep -qx 'new setting pcp_batch_scale_max 0' out
    grep -qx 'verdict: PROMOTE' out
    compare new --setting --json >one
    python3 - one <<'END'
import json, sys
d = json.load(open(sys.argv[1], encoding="utf-8"))
assert d["factor"] == "setting" and d["kernel"]["release"] == "6.1.158-kpcp", d
assert d["old_setting"]["pcp_batch_scale_max"] == 5 and d["new_setting"]["pcp_batch_scale_max"] == 0, d
assert "old_kernel" not in d and "new_kernel" not in d
END
    settings 5 # another sysctl: recordings do not tell which
    compare new --setting >out
    grep -q 'new setting pcp_batch_scale_max 5, as before' out
}

@test "--setting refuses two kernels, a control with the new setting, and a recording that comes twice" {
    settings 0
    "$MAKE" --out canary-2-new.kpcp --host canary-2 --boot 302 --seed 22 "${OLD[@]}"
    run --separate-stderr compare new --setting
    refused canary-1-old.kpcp canary-2-new.kpcp "one kernel" 6.1.158-kpcp 6.1.158-stock
    settings 0
    "$MAKE" --out control-2-new.kpcp --host control-2 --boot 402 --seed 42 "${NEW[@]}" --pcp-scale 0
    run --separate-stderr compare new --setting
    refused control-2-new.kpcp "canaries' old setting"
    settings 0
    cp canary-2-old.kpcp canary-2-new.kpcp
    run --separate-stderr compare new --setting
    refused canary-2-old.kpcp canary-2-new.kpcp "same recording"
}

@test "a file that is not there, and one that is no recording, are refused" {
    run --separate-stderr "$CANARY" compare nowhere.kpcp -- canary-1-new.kpcp
    refused nowhere.kpcp
    run --separate-stderr "$CANARY" compare plan.conf -- canary-1-new.kpcp
    refused plan.conf "not a kpcp recording"
    run --separate-stderr "$CANARY" compare . -- canary-1-new.kpcp
    refused "."
}

@test "unknown options and plan keys name the nearest valid one" {
    run --separate-stderr compare new --jsno
    refused --json
    run --separate-stderr "$CANARY" compare a -- b --controls c -- d
    refused --control
    echo 'storm = 3' >>plan.conf
    run --separate-stderr compare new
    refused plan.conf:4 storms
    printf '[judge]\nmargin-p99 = 10\n' >plan.conf
    run --separate-stderr compare new
    refused plan.conf:2 margin-p99
    run --separate-stderr "$CANARY" compare --plan nowhere.conf canary-1-old.kpcp -- canary-1-new.kpcp
    refused nowhere.conf
    run --separate-stderr "$CANARY" comprae
    refused compare
}

@test "groups that are missing or too many are refused with the form" {
    f=canary-1-old.kpcp
    for words in "" "$f" "-- $f" "$f --" "$f -- $f -- $f" "$f --control $f" "$f -- --control $f -- $f" \
        "$f -- $f --control $f" "$f -- $f --control -- $f" "$f -- $f --control $f --" \
        "$f -- $f --control $f -- $f -- $f" "$f -- $f --control $f --control $f" "$f -- $f --control $f -- $f --control $f"; do
        # shellcheck disable=SC2086 # words
        run --separate-stderr "$CANARY" compare $words
        refused "OLD... -- NEW..."
    done
}

@test "JSON parses, has the numbers of the table, and is the same bytes each time" {
    compare new --json >one
    compare new --json >two
    cmp one two
    python3 - one <<'END'
import json, sys
d = json.load(open(sys.argv[1], encoding="utf-8"))
assert d["format"] == "kpcp-compare/1" and d["verdict"] == "PROMOTE", d["verdict"]
assert [e["name"] for e in d["endpoints"]] == ["p99", "p99.9", "exit"]
for e in d["endpoints"]:
    assert e["judged"] and e["lower"] < e["ratio"] < e["upper"] < e["limit"], e
    assert e["p_randomisation"] == 0.05 and e["assignments"] == 20, e
assert len(d["hosts"]) == 6 and len(d["files"]) == 12 and d["reasons"]
assert d["old_kernel"]["pcp_batch_scale_max"] is None and d["new_kernel"]["pcp_batch_scale_max"] == 5
canaries = [h["difference"]["p99"] for h in d["hosts"] if not h["control"]]
controls = [h["difference"]["p99"] for h in d["hosts"] if h["control"]]
delta = sum(canaries) / 3 - sum(controls) / 3
assert abs(delta - d["endpoints"][0]["delta"]) < 1e-9, delta
END
}

@test "JSON without controls has null where there is no bound, exit 3" {
    status=0
    "$CANARY" compare --json canary-?-old.kpcp -- canary-?-new.kpcp >one || status=$?
    [ "$status" -eq 3 ]
    python3 - one <<'END'
import json, sys
d = json.load(open(sys.argv[1], encoding="utf-8"))
assert d["verdict"] == "HOLD" and d["controls"] == {"old": None, "new": None}
assert d["endpoints"][0]["upper"] is None and d["endpoints"][0]["ratio"] > 0
END
}

@test "the order of the files does not change the verdict's numbers" {
    compare new --json >one
    "$CANARY" compare --plan plan.conf --json canary-{3,1,2}-old.kpcp -- canary-{2,3,1}-new.kpcp \
        --control control-{2,1,3}-old.kpcp -- control-{3,2,1}-new.kpcp >two
    python3 - one two <<'END'
import json, sys
a, b = (json.load(open(f, encoding="utf-8")) for f in sys.argv[1:])
assert all(a[k] == b[k] for k in a if k != "files")
END
}

@test "--no-picture leaves the picture out, another locale makes it ASCII, no line is over 100 columns" {
    compare new --no-picture >out
    absent 'height:' out
    LC_ALL=C compare new >out
    grep -q 'height:' out
    LC_ALL=C absent '[^ -~]' out
    absent -E '.{101}' out
    LC_ALL=C.UTF-8 compare new >out
    grep -q '█' out
    absent -E '.{101}' out
    absent "$(printf '\033')" out
}

@test "a verdict that cannot be written is an error" {
    [ -c /dev/full ]
    status=0
    compare new >/dev/full 2>err || status=$?
    [ "$status" -eq 1 ]
    grep -q 'standard output' err
}

# warnings OPTION-AND-FILES... -> what compare warns of, in the table as in JSON, in ./warned
warnings() {
    "$CANARY" compare "$@" >out || [ $? -eq 3 ]
    "$CANARY" compare --json "$@" >json || [ $? -eq 3 ]
    python3 -c 'import json; [print(w) for w in json.load(open("json"))["warnings"]]' >warned
    diff <(sed -n '/^warning: /,$p' out | sed 's/^warning: //' | xargs -n 1) <(xargs -n 1 <warned)
}

@test "operations that were late are told of, as when they were recorded" {
    "$MAKE" --out canary-1-old.kpcp --host canary-1 --boot 1 --seed 1 "${OLD[@]}" --samples 100 --missed 60
    "$MAKE" --out control-1-new.kpcp --host control-1 --boot 5 --seed 5 "${OLD[@]}" --samples 100 --missed 60
    warnings --plan plan.conf canary-?-old.kpcp -- canary-?-new.kpcp --control control-?-old.kpcp -- control-?-new.kpcp
    grep -q '^canary-1-old.kpcp, and so 1 of the other recordings: .* started a period or more late' warned
    [ "$(wc -l <warned)" -eq 1 ]
}

@test "a setting that is compared with itself, and a plan that nobody wrote, are told of; nothing where all is well" {
    warnings --plan plan.conf canary-?-old.kpcp -- canary-?-new.kpcp --control control-?-old.kpcp -- control-?-new.kpcp
    [ -z "$(cat warned)" ]
    warnings canary-1-old.kpcp -- canary-1-new.kpcp
    grep -q 'expected; there is 1 and 0\. .* --plan FILE' warned
    settings 5
    warnings --setting --plan plan.conf canary-?-old.kpcp -- canary-?-new.kpcp \
        --control control-?-old.kpcp -- control-?-new.kpcp
    grep -q '^Old and new have the same setting .*pcp_batch_scale_max 5' warned
    settings 0
    warnings --setting --plan plan.conf canary-?-old.kpcp -- canary-?-new.kpcp \
        --control control-?-old.kpcp -- control-?-new.kpcp
    [ -z "$(cat warned)" ]
}
