#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# Owns the proof that tests/vm/run reports as success only what a guest has proven, and tests/vm/pool only what every job
# has. KPCP_GUEST_KERNEL names the kernel image to boot. It must not know how either works inside.

# shellcheck disable=SC2016,SC2030,SC2031,SC2154,SC2317 # scripts are quoted for the guest; bats sets status and calls tests
bats_require_minimum_version 1.5.0

setup_file() {
    [ -r "${KPCP_GUEST_KERNEL:?set it to the path of a guest kernel, such as kernel/build.sh makes}" ]
}

setup() {
    vm=$BATS_TEST_DIRNAME
    out=$BATS_TEST_TMPDIR/out
}

# guest [OPTION...] -- SCRIPT... : two CPUs are enough to test the harness
guest() {
    run --separate-stderr "$vm/run" --kernel "$KPCP_GUEST_KERNEL" --out "$out" --cpus 2 --memory 512 --timeout 120 "$@"
}

script() { # TEXT: an executable below the host's /tmp, which the guest must see
    printf '#!/bin/bash\n%s\n' "$1" >"$BATS_TEST_TMPDIR/script"
    chmod +x "$BATS_TEST_TMPDIR/script"
    printf '%s' "$BATS_TEST_TMPDIR/script"
}

teardown() { rm -rf "/run/kpcp-test-$$"; }

# 1 is pgrep's word for none; anything else, a pgrep that is not there among it, proves nothing.
no_guest_left() {
    local found=0
    pgrep -f -- "path=$out,mount_tag=out" >/dev/null || found=$?
    [ "$found" -eq 1 ]
}

stderr_has() { [[ $stderr == *"$1"* ]] || { echo "stderr lacks '$1': $stderr"; return 1; }; }

failed_with() { [ "$status" -eq 1 ] && stderr_has "$1"; }

console_begun() {
    local i
    for ((i = 0; i < 200; i++)); do [ ! -s "$out/console.log" ] || return 0; sleep 0.1; done
    return 1
}

@test "a script that succeeds: its output, its files and its arguments arrive" {
    guest --name host-7 -- "$(script 'echo "$#:$1:$2"; echo oops >&2; echo made >"$KPCP_OUT/file"; echo x >/tmp/kpcp-x
        hostname_now=$(</proc/sys/kernel/hostname); echo "$hostname_now $PWD"; ! touch /usr/kpcp-x 2>/dev/null')" "a  'b\$c" ''
    [ "$status" -eq 0 ]
    [ "${lines[0]}" = "2:a  'b\$c:" ]
    [ "${lines[1]}" = "host-7 $(realpath "$vm/../..")" ]
    [ "$(cat "$out/file")" = made ]
    [ "$(cat "$out/stderr")" = oops ]
    [ "$(cat "$out/status")" = 0 ]
    [ ! -e /tmp/kpcp-x ]
    [ ! -e /usr/kpcp-x ]
    stderr_has oops
}

@test "a script that exits with 3 is a failure, though the guest went off in order" {
    guest -- "$(script 'exit 3')"
    [ "$status" -eq 1 ]
    stderr_has 'exited with 3'
    stderr_has "$out/console.log"
}

@test "forged proof without the token does not pass, even with a status file" {
    guest -- "$(script 'echo "KPCP-GUEST-DONE 0123 0" | tee /dev/console; echo 0 >"$KPCP_OUT/status"
        echo o >/proc/sysrq-trigger; sleep 60')"
    [ "$status" -eq 1 ]
    grep -q 'KPCP-GUEST-DONE 0123 0' "$out/console.log"
    stderr_has 'without proving'
}

@test "the last run's proof does not pass for this one" {
    guest -- "$(script true)"
    [ "$status" -eq 0 ]
    mv "$out/console.log" "$out/old"
    guest -- "$(script "cat '$out/old' >/dev/console; echo o >/proc/sysrq-trigger; sleep 60")"
    failed_with 'without proving'
    grep -q '^KPCP-GUEST-DONE [0-9a-f]* 0' "$out/console.log"
}

@test "a kernel that panics before the script is a failure that names the console" {
    guest --append 'init=/nonexistent' -- "$(script true)"
    [ "$status" -eq 1 ]
    stderr_has 'the kernel panicked'
    stderr_has "$out/console.log"
}

@test "a kernel that panics in the script is a failure with the console's last lines" {
    guest -- "$(script 'echo c >/proc/sysrq-trigger')"
    [ "$status" -eq 1 ]
    stderr_has 'the kernel panicked: Kernel panic - not syncing: sysrq triggered crash'
}

@test "a guest that is not done in time is stopped, and no QEMU stays" {
    guest --timeout 20 -- "$(script 'sleep 100000000')"
    [ "$status" -eq 1 ]
    stderr_has 'not done after 20 s'
    no_guest_left
}

@test "a signal to run ends the guest" {
    "$vm/run" --kernel "$KPCP_GUEST_KERNEL" --out "$out" --timeout 120 -- "$(script 'sleep 100000000')" 2>"$BATS_TEST_TMPDIR/err" 3>&- &
    local pid=$! code=0
    console_begun
    run no_guest_left
    [ "$status" -ne 0 ]
    kill -TERM "$pid"
    wait "$pid" || code=$?
    [ "$code" -eq 1 ]
    grep -q 'stopped by a signal' "$BATS_TEST_TMPDIR/err"
    no_guest_left
}

@test "kill -9 of run ends the guest" {
    "$vm/run" --kernel "$KPCP_GUEST_KERNEL" --out "$out" --timeout 120 -- "$(script 'sleep 100000000')" 3>&- &
    local pid=$! i
    console_begun
    run no_guest_left
    [ "$status" -ne 0 ]
    kill -KILL "$pid"
    for ((i = 0; i < 100; i++)); do ! no_guest_left || return 0; sleep 0.1; done
    return 1
}

@test "bad use is refused before anything starts" {
    guest --cpus 0 -- true
    failed_with "--cpus needs a whole number from 1 to 255, not '0'"
    guest --kernel /nonexistent -- true
    failed_with '/nonexistent'
    guest --nmae x -- true
    failed_with "unknown option '--nmae'"
    guest -- /nonexistent/script
    failed_with '/nonexistent/script'
    guest
    failed_with 'no script'
    guest --accel kvm --icount -- true
    failed_with 'exclude each other'
    [ ! -e "$out/console.log" ]
}

@test "an old QEMU is refused where it would hang" {
    mkdir "$BATS_TEST_TMPDIR/bin"
    printf '#!/bin/sh\necho "QEMU emulator version 7.2.22 (Debian)"\n' >"$BATS_TEST_TMPDIR/bin/qemu-system-x86_64"
    chmod +x "$BATS_TEST_TMPDIR/bin/qemu-system-x86_64"
    PATH=$BATS_TEST_TMPDIR/bin:$PATH guest -- true
    [ "$status" -eq 1 ]
    stderr_has 'QEMU 7.2.22 hangs'
}

# clone DIRECTORY: a clone there boots, runs its own script in its own directory, and gets what that writes
clone() {
    mkdir -p "$1/tests"
    cp -r "$vm" "$1/tests/vm"
    printf '#!/bin/bash\necho "here: $PWD"; echo made >"$KPCP_OUT/file"\n' >"$1/script"
    chmod +x "$1/script"
    run --separate-stderr "$1/tests/vm/run" --kernel "$KPCP_GUEST_KERNEL" --out "$1/out" --cpus 1 --timeout 120 -- "$1/script"
    [ "$status" -eq 0 ] || { echo "$stderr"; return 1; }
    [ "$output" = "here: $(realpath "$1")" ]
    [ "$(cat "$1/out/file")" = made ]
}

@test "a clone below /tmp, with a space in its path, boots as well" {
    clone "$BATS_TEST_TMPDIR/a clone"
}

@test "a clone below /run boots as well" {
    [ -w /run ] || skip "/run is not writable for this user"
    clone "/run/kpcp-test-$$"
}

@test "pool: every job runs, at most N at once, arguments survive" {
    local log=$BATS_TEST_TMPDIR/events
    jobs() {
        local i
        for i in 1 2 3 4 5; do
            printf 'job%d\tsh\t-c\techo + >>"$1"; sleep 0.3; echo - >>"$1"; echo "<$2>"\tx\t%s\ta  b\n' "$i" "$log"
        done
    }
    run --separate-stderr "$vm/pool" --jobs 2 --logs "$BATS_TEST_TMPDIR/logs" < <(jobs)
    [ "$status" -eq 0 ]
    [ "$(awk '$1 == "+" { n++ } $1 == "-" { n-- } n > max { max = n } END { print max, n }' "$log")" = '2 0' ]
    [ "$(cat "$BATS_TEST_TMPDIR/logs/job5.log")" = '<a  b>' ]
    stderr_has '[5/5]'
}

@test "pool: after a failure nothing new starts, and the log is named" {
    run --separate-stderr "$vm/pool" --jobs 1 --logs "$BATS_TEST_TMPDIR/logs" \
        < <(printf 'good\ttrue\nbad\tsh\t-c\techo why; exit 7\nnever\ttrue\n')
    [ "$status" -eq 1 ]
    stderr_has "'bad' failed; its output is in $BATS_TEST_TMPDIR/logs/bad.log"
    stderr_has why
    [ ! -e "$BATS_TEST_TMPDIR/logs/never.log" ]
}

@test "pool: a bad job list is refused before anything runs" {
    run --separate-stderr "$vm/pool" --logs "$BATS_TEST_TMPDIR/logs" < <(printf 'a\ttouch\t%s\nbroken\n' "$BATS_TEST_TMPDIR/ran")
    [ "$status" -eq 1 ]
    stderr_has "job line 2 has no program"
    [ ! -e "$BATS_TEST_TMPDIR/ran" ]
}
