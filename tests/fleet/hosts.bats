#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# The virtual hosts of the fleet: image, power, commands, repository, and the ways from one kernel to another.
# It must not know the agent: what a host can do without it is tested here. One guest, six boots; the tests build on
# one another in their order.

setup_file() {
    cd "$BATS_TEST_DIRNAME/../.." || return 1
    . tests/lib/kernels.sh
    local v dir
    for v in stock kpcp; do
        dir=$(kernel_build $v)
        cp "$dir"/linux-image-*.deb "$BATS_FILE_TMPDIR/$v.deb"
        cp "$dir/release" "$BATS_FILE_TMPDIR/$v.release"
    done
    tests/fleet/image.sh --kernel-deb "$BATS_FILE_TMPDIR/stock.deb" --out-name-key hosts-test >"$BATS_FILE_TMPDIR/image"
    echo $$ >"$BATS_FILE_TMPDIR/owner"
}

teardown_file() {
    "$BATS_TEST_DIRNAME/host" kill "$BATS_FILE_TMPDIR/h" || :
    if [ -s "$BATS_FILE_TMPDIR/http.pid" ]; then kill "$(<"$BATS_FILE_TMPDIR/http.pid")" || :; fi
}

setup() {
    cd "$BATS_FILE_TMPDIR" || return 1
    H=$BATS_TEST_DIRNAME/host
    OLD=$(<stock.release) NEW=$(<kpcp.release)
    ENTRY=gnulinux-advanced-6b706370-0000-4000-8000-000000000001
}

in_host() { "$H" exec h --timeout 300 -- "$@"; }
saved() { in_host grub-editenv list | sed -n 's/^saved_entry=//p'; }
id_of() { echo "$ENTRY>gnulinux-$1-advanced-${ENTRY#gnulinux-advanced-}"; }

# came_up RELEASE BOOT-BEFORE : another boot, of this kernel; times are shown, never judged
came_up() {
    local begin=$SECONDS boot
    boot=$("$H" wait h --timeout 900 --up --not-boot "$2")
    echo "# up after $((SECONDS - begin)) s" >&3
    [ "$boot" != "$2" ]
    [ "$(in_host uname -r)" = "$1" ]
}

start_host() {
    "$H" start h --image "$(<image)" --name host-1 --owner "$(<owner)" --put token:/etc/kpcp/token \
        --put fleet.list:/etc/apt/sources.list.d/fleet.list --put r/key/public.asc:/etc/apt/keyrings/fleet.asc
}

@test "host: what makes no sense is refused, with what to do" {
    run "$H" start d --image /nonexistent --name n
    [ "$status" -eq 1 ]
    [[ $output == *"image.sh makes one"* ]]
    run "$H" start d --image "$(<image)" --name 'Not A Name'
    [ "$status" -eq 1 ]
    run "$H" start d --image "$(<image)" --name n --put "$BATS_TEST_FILENAME:relative"
    [ "$status" -eq 1 ]
    [[ $output == *"SOURCE:/PATH/OF/FILE"* ]]
    run "$H" start d --image "$(<image)" --name n --memory 1
    [ "$status" -eq 1 ]
    run "$H" exec d -- true
    [ "$status" -eq 125 ]
    [ ! -e d ]
}

@test "host: a pid file that names another process ends nothing" {
    sleep 600 3>&- &
    mkdir other
    echo "$! 1" >other/qemu.pid
    run "$H" kill other
    [ "$status" -eq 0 ]
    kill -0 $!
    run "$H" status other
    [ "$status" -eq 3 ]
    kill $!
}

@test "repo: signed; a second call adds in one step, keeps, and refuses another content of the same version" {
    [ "$("$BATS_TEST_DIRNAME/repo.sh" r stock.deb)" = "$PWD/r/repo" ]
    local first index
    first=$(readlink r/repo)
    index=$(find r/repo/dists/fleet/main/binary-amd64/by-hash/SHA256 -type f -printf '%f\n' -quit)
    [ "$index" ]
    "$BATS_TEST_DIRNAME/repo.sh" r kpcp.deb
    [ "$(readlink r/repo)" != "$first" ]
    grep -q "^Package: linux-image-$OLD\$" r/repo/dists/fleet/main/binary-amd64/Packages
    grep -q "^Package: linux-image-$NEW\$" r/repo/dists/fleet/main/binary-amd64/Packages
    [ -e "r/repo/dists/fleet/main/binary-amd64/by-hash/SHA256/$index" ]
    gpg --homedir "$(mktemp -d)" --dearmor <r/key/public.asc >public.gpg
    gpgv --keyring "$PWD/public.gpg" r/repo/dists/fleet/InRelease
    # The key of the first call signs the second.
    gpgv --keyring "$PWD/public.gpg" "r/$first/dists/fleet/InRelease"
    [ "$(stat -c %a r/key/private.asc)" = 600 ]
    first=$(readlink r/repo)
    dpkg-deb -R kpcp.deb changed
    echo changed >changed/usr/share/changed
    dpkg-deb -b changed changed.deb
    run "$BATS_TEST_DIRNAME/repo.sh" r changed.deb
    [ "$status" -eq 1 ]
    [[ $output == *"another content"* ]]
    [ "$(readlink r/repo)" = "$first" ]
    [ "$(find r -maxdepth 1 -name '.version-*' | wc -l)" -eq 2 ]
}

@test "a host boots through GRUB, with the files that were put into it" {
    (umask 077 && echo secret >token)
    python3 -u -m http.server --bind 127.0.0.1 --directory "$PWD/r/repo" 0 >http.log 2>&1 3>&- &
    echo $! >http.pid
    for _ in $(seq 100); do [ -s http.log ] || sleep 0.1; done
    local port
    port=$(sed -n '1s/.*port \([0-9]*\).*/\1/p' http.log)
    echo "deb [signed-by=/etc/apt/keyrings/fleet.asc] http://10.0.2.2:$port/ fleet main" >fleet.list
    start_host
    run "$H" start h --image "$(<image)" --name host-1
    [ "$status" -eq 1 ]
    [[ $output == *"runs already"* ]]
    came_up "$OLD" none
    in_host grep -q BOOT_IMAGE=/boot/ /proc/cmdline
    [ "$(in_host stat -c '%a %U %s' /etc/kpcp/token)" = "600 root 7" ]
    [ "$(in_host hostname)" = host-1 ]
    [ "$(in_host systemctl is-system-running)" = running ]
    [ "$(saved)" = "$(id_of "$OLD")" ]
    in_host grep -qx LOAD_KEXEC=false /etc/default/kexec
}

@test "exec: output, errors, words and status come back unchanged; what is late is killed" {
    local status=0
    "$H" exec h -- sh -c 'printf "%s|" "$@"; echo wrong >&2; exit 37' sh 'two words' '' $'a\nb' --timeout '*' >out 2>err || status=$?
    [ "$status" -eq 37 ]
    [ "$(<out)" = $'two words||a\nb|--timeout|*|' ]
    [ "$(<err)" = wrong ]
    in_host sh -c 'head -c 400000 /dev/urandom >/tmp/random; cat /tmp/random' >random
    [ "$(in_host sha256sum /tmp/random | cut -d ' ' -f 1)" = "$(sha256sum random | cut -d ' ' -f 1)" ]
    run "$H" exec h --timeout 5 -- sleep 1234
    [ "$status" -eq 124 ]
    sleep 2
    run in_host pgrep -f '^sleep 1234'
    [ "$status" -eq 1 ]
    status=0
    in_host /nonexistent || status=$?
    [ "$status" -eq 127 ]
}

@test "a kernel from the signed repository leaves the saved entry as it was, and a reboot comes up in the old one" {
    in_host apt-get -q update
    local begin=$SECONDS boot
    in_host apt-get -q -y install "linux-image-$NEW"
    echo "# installed in $((SECONDS - begin)) s" >&3
    [ "$(saved)" = "$(id_of "$OLD")" ]
    in_host grep -qF "'gnulinux-$NEW-advanced-" /boot/grub/grub.cfg
    boot=$("$H" wait h)
    in_host systemctl reboot
    came_up "$OLD" "$boot"
}

@test "kexec brings up the new kernel with its arguments, a reset the old one" {
    local boot
    in_host kexec -s -l "/boot/vmlinuz-$NEW" --append="root=/dev/vda1 ro console=ttyS0 panic=-1 cryptomgr.notests kpcp.txn=t1"
    [ "$(in_host cat /sys/kernel/kexec_loaded)" = 1 ]
    boot=$("$H" wait h)
    in_host systemctl kexec
    came_up "$NEW" "$boot"
    in_host grep -q 'kpcp.txn=t1' /proc/cmdline
    [ "$(saved)" = "$(id_of "$OLD")" ]
    boot=$("$H" wait h)
    "$H" reset h
    came_up "$OLD" "$boot"
}

@test "with the default set by menu id a reboot comes up in the new kernel, through GRUB though an image is loaded" {
    local boot
    in_host kexec -s -l "/boot/vmlinuz-$OLD" --append="root=/dev/vda1 ro console=ttyS0 panic=-1 kpcp.txn=t2"
    in_host grub-set-default "$(id_of "$NEW")"
    [ "$(saved)" = "$(id_of "$NEW")" ]
    boot=$("$H" wait h)
    in_host systemctl reboot
    came_up "$NEW" "$boot"
    in_host grep -q BOOT_IMAGE=/boot/ /proc/cmdline
}

@test "a power cut loses what was not written, keeps what was, and the disk stays bootable" {
    local boot
    in_host sh -c 'echo kept >/var/lib/kept; sync; echo lost >/var/lib/lost'
    boot=$("$H" wait h)
    "$H" kill h
    run "$H" status h
    [ "$status" -eq 3 ]
    run "$H" exec h -- true
    [ "$status" -eq 125 ]
    start_host
    came_up "$NEW" "$boot"
    [ "$(in_host cat /var/lib/kept)" = kept ]
    run in_host test -s /var/lib/lost
    [ "$status" -ne 0 ]
    "$H" stop h
    run "$H" status h
    [ "$status" -eq 3 ]
    [[ $output == *"status 0"* ]]
}

@test "a host ends with its owner" {
    sleep 600 3>&- &
    "$H" start owned --image "$(<image)" --name host-2 --owner $!
    "$H" status owned
    kill $!
    for _ in $(seq 100); do "$H" status owned >/dev/null || break; sleep 0.1; done
    run "$H" status owned
    [ "$status" -eq 3 ]
}
