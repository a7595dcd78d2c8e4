#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154
#
# kpcp-canary record: real ones on this machine, small; no test asserts on how long anything took.

load canary.sh

setup() {
    T=$BATS_TEST_TMPDIR/work
    mkdir "$T"
    cd "$T" || return
    OUT=$T/a.kpcp
}

teardown() {
    local p
    for p in $(processes_of "$OUT"); do kill -KILL "$p" || :; done
    if mountpoint -q "$T/small"; then umount "$T/small"; fi
}

part_has_storms() { [ -f "$OUT.part" ] && [ "$(stat -c %s "$OUT.part")" -gt 600 ]; }

@test "a recording has this machine's facts, all slots of all windows, and leaves nothing behind" {
    record "$OUT" --host here --seed 7
    [ ! -e "$OUT.part" ]
    [ -z "$(processes_of "$OUT")" ]
    "$CANARY" report --json "$OUT" | python3 -c '
import json, sys
d = json.load(sys.stdin)
boot = open("/proc/sys/kernel/random/boot_id").read().strip().replace("-", "")
assert d["boot_id"] == boot, d["boot_id"]
assert d["kernel"]["release"] == open("/proc/sys/kernel/osrelease").read().strip()
assert d["host"] == "here" and d["seed"] == "7"
s = d["shape"]
assert (s["burst_pages"], s["period_ns"], s["window_ns"], s["processes"]) == (96, 5000000, 100000000, 2), s
assert d["storms"] == d["storms_planned"] == 3
assert d["exit_pages"] == 3 * 2 * s["process_pages"] and d["exit_ns"] > 0
# 20 slots a window and victim; a victim of a stopped machine may give up, never invent.
assert d["response"]["samples"] <= 3 * 20 * s["victims"]
assert d["response"]["samples"] + d["missed"] >= 3 * 20 * s["victims"], d["missed"]
assert d["service"]["samples"] == d["response"]["samples"]
assert d["service"]["p50_ns"] <= d["response"]["p50_ns"]'
}

@test "the build-id is the running kernel's" {
    [ -r /sys/kernel/notes ]
    record "$OUT" --storms 1 --warmup 0
    id=$("$CANARY" report --json "$OUT" | python3 -c 'import json, sys; print(json.load(sys.stdin)["kernel"]["build_id"])')
    python3 - "$id" <<'END'
import sys
assert bytes.fromhex(sys.argv[1]) in open("/sys/kernel/notes", "rb").read() or set(sys.argv[1]) == {"0"}
END
}

@test "it works without privileges" {
    [ "$(id -u)" -eq 0 ] || skip "this user has none anyway: the other tests show it"
    chmod 711 "$T" "$BATS_TEST_TMPDIR" "$BATS_TEST_TMPDIR/.." "$BATS_FILE_TMPDIR" "$BATS_RUN_TMPDIR"
    mkdir free
    chmod 777 free
    cp "$CANARY" free/kpcp-canary
    cd free
    setpriv --reuid 65534 --regid 65534 --clear-groups ./kpcp-canary record --out mine.kpcp --storm 2x16M --storms 1 \
        --warmup 0 --burst 96 --period 5ms --window 100ms
    [ -s mine.kpcp ]
}

@test "a file that exists is not replaced without --force" {
    echo precious >"$OUT"
    run --separate-stderr record "$OUT"
    refused "$OUT is there already" --force
    [ "$(<"$OUT")" = precious ]
    rm "$OUT"
    echo rest >"$OUT.part"
    run --separate-stderr record "$OUT"
    refused "$OUT.part is there already"
    [ "$(<"$OUT.part")" = rest ]
    record "$OUT" --storms 1 --warmup 0 --force
    "$CANARY" report "$OUT" >/dev/null
    record "$OUT" --storms 1 --warmup 0 --force
}

@test "what is no regular file is neither replaced nor followed nor waited for, even with --force" {
    mkdir dir
    mkfifo fifo
    echo precious >other
    ln -s other link
    ln -s nowhere dangling
    for name in dir fifo link dangling; do
        run --separate-stderr record "$T/$name" --force
        refused "$T/$name is there already and is no regular file"
        [ ! -e "$name.part" ]
    done
    for name in fifo link dir; do
        mv $name "$OUT.part"
        run --separate-stderr timeout 60 "$CANARY" record --out "$OUT" --force
        refused "$OUT.part"
        mv "$OUT.part" $name
    done
    [ "$(<other)" = precious ]
    [ ! -e nowhere ]
}

@test "two recordings into one file: the second is refused, the first goes on" {
    record "$OUT" --storms 3000 --force 2>err &
    pid=$!
    until_true 60 part_has_storms
    run --separate-stderr record "$OUT" --force
    refused "$OUT.part is being written by another recording"
    [ -e "$OUT.part" ]
    kill -TERM "$(recorder_of "$OUT" "$pid")"
    wait "$pid" || :
    grep -q "measured before .* in $OUT.part" err
    record "$OUT" --storms 1 --warmup 0 --force
}

@test "standard streams that are closed do not get into the recording" {
    record "$OUT" --verbose <&- >&- 2>&-
    "$CANARY" report "$OUT" >/dev/null
    absent -a storm "$OUT"
}

@test "a limit on the size of files is an error like a full disk" {
    run --separate-stderr bash -c 'ulimit -f 1; exec "$@"' - "$CANARY" record --out "$OUT" --storms 3000 --warmup 0 \
        --period 1ms --window 300ms --burst 64 --storm 2x4M
    refused "File too large" "measured before"
    run --separate-stderr "$CANARY" report "$OUT.part"
    refused truncated
}

@test "a process that cannot be started is an error, not a void storm" {
    [ "$(id -u)" -eq 0 ] || skip "a user with a known number of processes needs root"
    chmod 711 "$T" "$BATS_TEST_TMPDIR" "$BATS_TEST_TMPDIR/.." "$BATS_FILE_TMPDIR" "$BATS_RUN_TMPDIR"
    mkdir free
    chmod 777 free
    cp "$CANARY" free/kpcp-canary
    cd free
    # Itself and a victim; the storm is one too many. A user that has no other process.
    run --separate-stderr bash -c 'ulimit -u 2; exec "$@"' - setpriv --reuid 64999 --regid 64999 --clear-groups \
        ./kpcp-canary record --out mine.kpcp --storm 2x16M --storms 1 --warmup 0 --burst 96 --period 5ms --window 100ms \
        --victim-cpus 0
    refused "starting storm process 1 of 2"
    # A machine whose /sys tells nothing of caches warns of that, and of nothing else.
    [ "$(grep -c warning <<<"$stderr")" -eq "$(grep -c 'share a cache' <<<"$stderr")" ]
}

@test "unknown options, bad values and missing ones are refused, and nothing is written" {
    run --separate-stderr record "$OUT" --strom 2x16M
    refused --storm
    run --separate-stderr "$CANARY" record
    refused --out
    run --separate-stderr record "$OUT" operand
    refused operand
    for bad in "--storms 0" "--storms 3x" "--storm 16M" "--storm 0x16M" "--storm 2x16Q" "--storm x" "--period 5" \
        "--window 1" "--burst -1" "--victim-cpus 3-1" "--max-memory-share 50" "--max-memory-share 100%" \
        "--host a/b" "--host=" "--seed -1" "--lead 5"; do
        # shellcheck disable=SC2086 # words
        run --separate-stderr record "$OUT" $bad
        refused "${bad%%[ =]*}"
    done
    [ -z "$(ls)" ]
}

@test "CPUs that are not there or used twice are refused" {
    run --separate-stderr record "$OUT" --victim-cpus 8000
    refused "--victim-cpus: CPU 8000"
    run --separate-stderr record "$OUT" --storm-cpus 0-8000
    refused --storm-cpus
    run --separate-stderr record "$OUT" --victim-cpus 0 --storm-cpus 0-1
    refused "CPU 0 is both" --victim-cpus --storm-cpus
    run --separate-stderr record "$OUT" --storm 2x32
    refused "did you mean 2x32M?"
    [ -z "$(ls)" ]
}

@test "more memory than the share is refused with the figures" {
    run --separate-stderr record "$OUT" --storm 4000x1G
    refused "not enough memory" "4000 x 1024 MiB" "50% of" --max-memory-share
    run --separate-stderr record "$OUT" --burst 65536 --window 600s
    refused "not enough memory"
    [ -z "$(ls)" ]
}

@test "a burst that one batch would serve is refused" {
    run --separate-stderr record "$OUT" --burst 1
    refused "--burst 1" batch
}

@test "a folder that is not there, or may not be written to, is refused" {
    run --separate-stderr record "$T/nowhere/a.kpcp"
    refused nowhere "cannot write" "make the folder"
    run --separate-stderr record /proc/a.kpcp
    refused /proc/a.kpcp
    run --separate-stderr record ""
    refused empty
}

@test "SIGTERM and SIGINT leave no process and no recording, and name the part" {
    for signal in TERM INT; do
        # Without job control a background process has SIGINT ignored; -m gives it one of its own.
        set -m
        record "$OUT" --storms 3000 2>err &
        pid=$!
        set +m
        until_true 60 part_has_storms
        main=$(recorder_of "$OUT" "$pid")
        kill -$signal "$main"
        status=0
        wait "$pid" || status=$?
        cat err
        [ "$status" -eq 1 ]
        [ -z "$(processes_of "$OUT")" ]
        [ ! -e "$OUT" ]
        grep -q 'interrupted' err
        grep -q "measured before .* in $OUT.part" err
        run --separate-stderr "$CANARY" report "$OUT.part"
        refused "$OUT.part" truncated
        rm "$OUT.part"
    done
}

@test "SIGKILL of the recorder takes its processes with it" {
    # A long lead-in: most of the time there is a storm that waits for its death.
    set -m
    record "$OUT" --storms 3000 --lead 3s 2>err &
    pid=$!
    set +m
    all_there() { [ "$(processes_of "$OUT" | wc -l)" -ge 4 ]; } # itself, a victim, a storm of two
    until_true 60 all_there
    kill -KILL "$(recorder_of "$OUT" "$pid")"
    wait "$pid" || :
    gone() { [ -z "$(processes_of "$OUT")" ]; }
    until_true 30 gone
}

@test "a victim that is killed is an error, and the rest is cleaned up" {
    set -m
    record "$OUT" --storms 3000 2>err &
    pid=$!
    set +m
    until_true 60 part_has_storms
    main=$(recorder_of "$OUT" "$pid")
    # Its oldest child is the victim; a storm's processes may be gone before they are looked at.
    victim=$(processes_of "$OUT" | while read -r p; do
        awk -v parent="$main" '$4 == parent { print $22, $1 }' "/proc/$p/stat" 2>/dev/null || :
    done | sort -n | awk 'NR == 1 { print $2 }')
    # Stopped meanwhile, the recorder finds it dead when it gives the next command as well as when it waits.
    kill -STOP "$main"
    kill -KILL "$victim"
    kill -CONT "$main"
    status=0
    wait "$pid" || status=$?
    cat err
    [ "$status" -eq 1 ]
    grep -q "victim $victim is dead (signal 9)" err
    [ -z "$(processes_of "$OUT")" ]
}

@test "no space: a clear error, and only whole storms are left" {
    mkdir small
    mount -t tmpfs -o size=12k none small || skip "a file system of a known size needs root"
    head -c 8192 /dev/zero >small/filler
    run --separate-stderr record small/a.kpcp --storms 3000 --warmup 0 --period 1ms --window 300ms --burst 64 --storm 2x4M
    refused "No space left" "small/a.kpcp.part" "measured before"
    run --separate-stderr "$CANARY" report small/a.kpcp.part
    refused truncated
    rm small/a.kpcp.part
    head -c 4096 /dev/zero >>small/filler
    run --separate-stderr record small/b.kpcp
    refused "No space left" "the header"
    [ ! -e small/b.kpcp.part ]
}

@test "a sysctl that changes during a recording voids it" {
    [ -w /proc/sys/vm/stat_interval ] || skip "changing a sysctl needs root and a writable /proc/sys"
    before=$(</proc/sys/vm/stat_interval)
    record "$OUT" --storms 10 2>err &
    pid=$!
    until_true 60 part_has_storms
    echo $((before + 1)) >/proc/sys/vm/stat_interval
    status=0
    wait "$pid" || status=$?
    echo "$before" >/proc/sys/vm/stat_interval
    cat err
    [ "$status" -eq 1 ]
    grep -q "vm.stat_interval changed from \"$before\" to \"$((before + 1))\"" err
    [ ! -e "$OUT" ]
}

@test "--verbose shows progress, silence otherwise" {
    run --separate-stderr record "$OUT" --verbose
    [ "$status" -eq 0 ]
    [[ $stderr == *"storm 3 of 3"* ]]
    run --separate-stderr record "$T/b.kpcp"
    [ "$status" -eq 0 ]
    absent -E 'storm [0-9]+ of' <<<"$stderr"
}
