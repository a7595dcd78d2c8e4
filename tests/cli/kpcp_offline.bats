#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154
#
# kpcp without a controller: init, kernel, preset, approve --no-submit, and bad input of each.

load kpcp.sh

BUILD_ID=0123456789abcdef0123456789abcdef01234567

setup() {
    mkdir "$BATS_TEST_TMPDIR/here" # bats has files of its own beside it
    cd "$BATS_TEST_TMPDIR/here" || return
}

# package NAME FILE
package() {
    mkdir -p root/DEBIAN
    printf 'Package: %s\nVersion: 6.1.158-1+kpcp\nArchitecture: amd64\nMaintainer: a <a@b.invalid>\nDescription: x\n' \
        "$1" >root/DEBIAN/control
    dpkg-deb --root-owner-group -b root "$2" >/dev/null
}

@test "init makes keys, certificates and configurations that belong together" {
    "$KPCP" init new --server IP:10.0.2.2,DNS:controller,IP:127.0.0.1 --operator ann --port 9000 >out
    for word in rolloutd.conf kpcp.conf approver.key approver.pub ca.pem agent.conf token new/; do grep -qF "$word" out; done
    [ "$(stat -c %a new)" = 700 ]
    for key in ca server operator approver; do [ "$(stat -c %a new/$key.key)" = 600 ]; done
    openssl verify -CAfile new/ca.pem -purpose sslserver new/server.pem
    openssl verify -CAfile new/ca.pem -purpose sslclient new/operator.pem
    openssl x509 -in new/server.pem -noout -ext subjectAltName >names
    grep -q 'IP Address:10.0.2.2, DNS:controller, IP Address:127.0.0.1' names
    openssl x509 -in new/operator.pem -noout -subject >subject
    grep -q 'kpcp-operator.*ann' subject
    cmp <(openssl pkey -in new/approver.key -pubout) new/approver.pub
    grep -qx 'url = https://10.0.2.2:9000' new/kpcp.conf
    grep -qx 'url = https://10.0.2.2:9000' new/agent.conf
    grep -qx 'port = 9000' new/rolloutd.conf
    grep -qx 'address = 0.0.0.0' new/rolloutd.conf
    grep -q '0.0.0.0 port 9000' out
    # The host's own program reads it; what is commented out, too.
    "$BUILD/agent/kpcp-agent" status --config new/agent.conf >said
    grep -qF https://10.0.2.2:9000 said
    sed 's/^;//' new/agent.conf >all.conf
    "$BUILD/agent/kpcp-agent" status --config all.conf
}

@test "init for this machine alone listens there alone, and says so" {
    "$KPCP" init one --server IP:127.0.0.1 >out
    grep -qx 'address = 127.0.0.1' one/rolloutd.conf
    grep -q 'this machine alone' out
    "$KPCP" init two --server DNS:localhost,IP:127.0.0.2 >out
    grep -qx 'address = 127.0.0.1' two/rolloutd.conf
    "$KPCP" init three --server IP:::1,DNS:localhost
    grep -qx 'address = ::1' three/rolloutd.conf
    "$KPCP" init four --server IP:127.0.0.1,DNS:localhost.example >out
    grep -qx 'address = 0.0.0.0' four/rolloutd.conf
    [ "$(grep -c 'this machine alone' out)" -eq 0 ]
    "$KPCP" init five --server IP:fd00::1
    grep -qx 'address = ::' five/rolloutd.conf
}

@test "init never touches what is there, and leaves nothing behind when it fails" {
    mkdir there
    echo mine >file
    run --separate-stderr "$KPCP" init there --server DNS:a
    refused there "is there already"
    run --separate-stderr "$KPCP" init file/ --server DNS:a
    refused file
    ln -s nowhere link
    run --separate-stderr "$KPCP" init link --server DNS:a
    refused link "is there already"
    run --separate-stderr "$KPCP" init new --server 10.0.2.2
    refused 10.0.2.2 IP:
    run --separate-stderr "$KPCP" init new --server DNS:a,IP:10.0.2.300
    refused 10.0.2.300
    run --separate-stderr "$KPCP" init new --server DNS:a --operator 'ann b'
    refused name
    run --separate-stderr "$KPCP" init new
    refused --server
    run --separate-stderr "$KPCP" init --server DNS:a
    refused "kpcp init DIR"
    run --separate-stderr "$KPCP" init no/such --server DNS:a
    refused no/such
    ls -A >left
    diff left <(printf '%s\n' file left link there | sort)
    [ -z "$(ls there)" ]
}

@test "kernel prints what a plan needs of a package, with the files beside it" {
    package linux-image-6.1.158+kpcp-guest-0123abcd x.deb
    echo $BUILD_ID >build-id
    echo 6.1.158+kpcp-guest-0123abcd >release
    "$KPCP" kernel x.deb >out
    diff out - <<-EOF
		[kernel]
		package = linux-image-6.1.158+kpcp-guest-0123abcd
		version = 6.1.158-1+kpcp
		release = 6.1.158+kpcp-guest-0123abcd
		sha256 = $(sha256sum x.deb | cut -d ' ' -f 1)
		build-id = $BUILD_ID
		EOF
    { printf '[rollout]\nname = r1\nclusters = big\n'; cat out; } >plan
    keys keys
    "$KPCP" approve plan --no-submit --key keys/approver.key
    grep -q '^\[approval\]' plan.directive
}

@test "kernel takes build-id and release as options, and Debian's own names" {
    package linux-image-6.1.0-28-amd64-unsigned x.deb
    "$KPCP" kernel x.deb --build-id $BUILD_ID >out
    grep -qx 'release = 6.1.0-28-amd64' out
    package my-kernel y.deb
    run --separate-stderr "$KPCP" kernel y.deb --build-id $BUILD_ID
    refused my-kernel --release
    "$KPCP" kernel y.deb --build-id $BUILD_ID --release 6.1.1-mine >out
    grep -qx 'release = 6.1.1-mine' out
}

@test "kernel refuses what is no package, and a build-id that is missing, malformed or another kernel's" {
    package linux-image-6.1.1 x.deb
    run --separate-stderr "$KPCP" kernel x.deb
    refused build-id --build-id
    run --separate-stderr "$KPCP" kernel x.deb --build-id 0123
    refused 0123 40
    run --separate-stderr "$KPCP" kernel x.deb --build-id $BUILD_ID --release ../x
    refused ../x
    echo $BUILD_ID >build-id
    echo 6.1.2 >release
    run --separate-stderr "$KPCP" kernel x.deb
    refused 6.1.2 6.1.1
    run --separate-stderr "$KPCP" kernel build-id
    refused build-id "no Debian package"
    run --separate-stderr "$KPCP" kernel nothing.deb
    refused nothing.deb
    mkfifo pipe
    run --separate-stderr timeout 20 "$KPCP" kernel pipe
    refused pipe
    run --separate-stderr "$KPCP" kernel
    refused "kpcp kernel DEB"
}

@test "preset reads the form of sysctl.d" {
    printf '# a\n; b\n\n  vm.pcp_batch_scale_max = 0\r\n-vm/watermark_scale_factor=20\n' >90-low-latency.conf
    "$KPCP" preset 90-low-latency.conf >out
    diff out - <<-'EOF'
		[preset]
		name = low-latency
		settings = vm.pcp_batch_scale_max=0, vm.watermark_scale_factor=20
		EOF
    "$KPCP" preset 90-low-latency.conf --name other >out
    grep -qx 'name = other' out
}

@test "preset refuses other keys, other values, twice the same, nothing, and a name that is none" {
    check() {
        printf '%b' "$1" >p.conf
        run --separate-stderr "$KPCP" preset p.conf
        refused p.conf "${@:2}"
    }
    check 'kernel.panic = 1\n' :1 kernel.panic
    check '\nvm.pcp_batch_scale_maxx = 1\n' :2 "did you mean 'vm.pcp_batch_scale_max'"
    check 'vm.pcp_batch_scale_max = 7\n' 7
    check 'vm.pcp_batch_scale_max = 1; reboot\n' :1
    check 'vm.pcp_batch_scale_max\n' :1
    check 'vm.pcp_batch_scale_max = 1, vm.zone_reclaim_mode = 1\n' ,
    check 'vm.pcp_batch_scale_max = 1\nvm.pcp_batch_scale_max = 2\n' :2 "line 1"
    check 'vm.pcp_batch_scale_max = 1\0\n' NUL
    check '# nothing\n' nothing
    run --separate-stderr "$KPCP" preset nothing.conf
    refused nothing.conf
    echo 'vm.pcp_batch_scale_max = 1' >'A B.conf'
    run --separate-stderr "$KPCP" preset 'A B.conf'
    refused --name 'A B'
}

@test "approve signs the plan's exact bytes, and openssl agrees" {
    keys keys
    plan r1.plan
    printf '# \xc3\xa9\n' >>r1.plan
    before=$(date +%s%3N)
    "$KPCP" approve r1.plan --no-submit --key keys/approver.key --valid 2h 2>said
    after=$(date +%s%3N)
    grep -q 'r1: preset latency (vm.pcp_batch_scale_max=0) on cluster big' said
    cmp -n "$(stat -c %s r1.plan)" r1.plan r1.plan.directive
    base64 -d r1.plan.directive.sig >sig
    openssl dgst -sha256 -verify keys/approver.pub -signature sig r1.plan.directive
    serial=$(sed -n 's/^serial = //p' r1.plan.directive)
    [ "$serial" -ge "$before" ] && [ "$serial" -le "$after" ]
    expires=$(sed -n 's/^expires = //p' r1.plan.directive)
    [ "$((expires - serial / 1000))" -eq 7200 ]
    ask approve r1.plan --no-submit --out other
    [ -s other ] && [ -s other.sig ]
}

@test "approve refuses plans that are none, keys that are none, and times out of range" {
    keys keys
    plan good
    check() {
        run --separate-stderr "$KPCP" approve plan --no-submit --key keys/approver.key
        refused "$@"
        [ ! -e plan.directive ]
    }
    run --separate-stderr "$KPCP" approve nothing --no-submit --key keys/approver.key
    refused nothing
    { cat good; printf '[judge]\nboot = 1\n'; } >plan
    check plan:9 boot "did you mean 'boots'"
    { cat good; printf '[kernel]\npackage = linux-image-x\n'; } >plan
    check '[kernel]' '[preset]'
    head -n 4 good >plan
    check '[kernel]' '[preset]'
    { cat good; printf '[approval]\nserial = 1\nexpires = 2\n'; } >plan
    check approv
    cp good plan
    run --separate-stderr "$KPCP" approve plan --no-submit --key keys/approver.pub
    refused approver.pub
    run --separate-stderr "$KPCP" approve plan --no-submit --key keys/nothing
    refused keys/nothing
    run --separate-stderr "$KPCP" approve plan --no-submit
    refused --key
    for time in 24 59s 31d 1.5h h -1h 99999999999999999999h; do
        run --separate-stderr "$KPCP" approve plan --no-submit --key keys/approver.key --valid=$time
        refused --valid "$time"
    done
    run --separate-stderr "$KPCP" approve plan --no-submit --key keys/approver.key --out no/such
    refused no/such
    [ ! -e plan.directive ]
}

@test "submit tells a wrong signature before anything is sent" {
    keys keys
    plan r1.plan
    ask approve r1.plan --no-submit
    run --separate-stderr ask submit r1.plan r1.plan.directive.sig
    refused approval
    sed 's/=0$/=1/' r1.plan.directive >changed
    run --separate-stderr ask submit changed r1.plan.directive.sig
    refused changed signature
    "$KPCP" init others --server DNS:a >/dev/null
    "$KPCP" approve r1.plan --no-submit --key others/approver.key --out other
    run --separate-stderr ask submit other other.sig
    refused other signature
    : >empty
    run --separate-stderr ask submit r1.plan.directive empty
    refused empty
    run --separate-stderr ask submit r1.plan.directive
    refused "kpcp submit DIRECTIVE SIGNATURE"
}

@test "a configuration that is missing or wrong is told of, with file, line and the nearest name" {
    keys keys
    run --separate-stderr "$KPCP" hosts
    refused --config /etc/kpcp/kpcp.conf
    run --separate-stderr "$KPCP" hosts --config nothing.conf
    refused nothing.conf
    sed 's/^cert =/certt =/' keys/kpcp.conf >keys/wrong.conf
    run --separate-stderr "$KPCP" hosts --config keys/wrong.conf
    refused "wrong.conf:6" "did you mean 'cert'"
    for url in http://a https:// https://a/b ftp://a https://u@a; do
        sed "s|^url =.*|url = $url|" keys/kpcp.conf >keys/wrong.conf
        run --separate-stderr "$KPCP" hosts --config keys/wrong.conf
        refused "wrong.conf:4" "https://NAME:PORT"
    done
    sed 's/^key = operator.key/key = nothing.key/' keys/kpcp.conf >keys/wrong.conf
    run --separate-stderr "$KPCP" hosts --config keys/wrong.conf
    refused "$PWD/keys/nothing.key"
}

@test "~/.config/kpcp.conf is found, and may be a link" {
    keys keys
    mkdir -p home/.config
    ln -s "$PWD/keys/kpcp.conf" home/.config/kpcp.conf
    plan r1.plan
    HOME=$PWD/home "$KPCP" approve r1.plan --no-submit
    [ -s r1.plan.directive.sig ]
}

@test "names that no host and no rollout can have are refused before anybody is asked" {
    keys keys
    for name in ../x a/b 'a b' '' a?b .x "$(printf 'x%.0s' {1..65})"; do
        for command in "why" "start" "abort" "status" "table" "retire"; do
            run --separate-stderr ask $command "$name"
            refused name
        done
    done
    run --separate-stderr ask token h1
    refused --cluster
    run --separate-stderr ask token h1 --cluster a/b
    refused a/b
    run --separate-stderr ask token h1 --cluster a --ttl 8d
    refused --ttl 8d
    run --separate-stderr ask status --until-done
    refused NAME
    run --separate-stderr ask status r1 --timeout 1h
    refused --until-done
    run --separate-stderr ask history --limit 1001
    refused --limit 1001
}

@test "help and version go to standard output, exit 0; a mistyped command is told the nearest" {
    run --separate-stderr "$KPCP" --help
    [ "$status" -eq 0 ]
    for command in init kernel preset plan approve submit token start pause resume abort status hosts why retire \
        history table; do
        [[ $output == *"  $command"* ]]
        "$KPCP" $command --help >help
        grep -q "^Usage: kpcp $command" help
    done
    "$KPCP" --help >help
    grep -q 'Exit code: 0' help
    "$KPCP" status --help >help
    grep -q ROLLED_BACK help
    run --separate-stderr "$KPCP" statsu
    refused "did you mean 'status'"
    run --separate-stderr "$KPCP" --version
    [[ $output =~ ^kpcp\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
}
