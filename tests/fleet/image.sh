#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Owns the disk image that virtual hosts begin with: Debian 12, one kernel, packages, GRUB with a saved entry; and the cache
# of its parts. It must not know what the packages do, nor how hosts are run.

set -euo pipefail
shopt -s inherit_errexit

here=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
repo=$here/../..
PROG=image.sh
# shellcheck source=tests/lib/step.sh
. "$repo/tests/lib/step.sh"

UUID=6b706370-0000-4000-8000-000000000001 # of the root's file system; menu ids have it
SIZE_MIB=3072                             # sparse
KEXEC_TOOLS='1:2.0.25-3+deb12u3'          # before it, its units made kexecs of plain reboots

usage() {
    cat <<'END'
usage: tests/fleet/image.sh --kernel-deb DEB --out-name-key NAME [EXTRA.deb...]

Prints the path of a raw disk image, made if there is none of the same things yet: Debian 12 with systemd, apt, kexec-tools
and GRUB, the kernel of DEB as the saved entry, and the EXTRA packages. It is read-only: tests/fleet/host start puts a layer
over it. It is kept under ${XDG_CACHE_HOME:-~/.cache}/kpcp/images, with NAME in its name; of each NAME the four last used
stay. New EXTRA packages cost some 20 seconds, a new kernel one short boot more, only the first of all needs the network.

  --kernel-deb DEB     the package of the kernel that hosts begin with
  --out-name-key NAME  what the image is for: lower-case letters, digits and -
  --help

Exit status: 0, or 1 with a message.
END
}

say() { printf '%s: %s\n' "$PROG" "$*" >&2; }

parse() {
    kernel_deb='' name='' extra=()
    while (($#)); do
        case $1 in
        -h | --help)
            usage
            exit 0
            ;;
        --kernel-deb | --out-name-key)
            [[ ${2-} ]] || die "$1 needs a value; see --help"
            if [[ $1 == --kernel-deb ]]; then kernel_deb=$2; else name=$2; fi
            shift
            ;;
        -*) known option "$1" --kernel-deb --out-name-key --help ;;
        *) extra+=("$1") ;;
        esac
        shift
    done
    [[ $kernel_deb ]] || die "--kernel-deb is missing; kernel/build.sh makes such a package"
    [[ $name =~ ^[a-z0-9][a-z0-9-]{0,30}$ ]] ||
        die "--out-name-key needs up to 31 lower-case letters, digits and -, not '$name'"
    local deb
    for deb in "$kernel_deb" "${extra[@]}"; do
        dpkg-deb -f "$deb" Package >/dev/null 2>&1 || die "'$deb' is no Debian package that can be read"
    done
}

need() { # PROGRAM:PACKAGE...
    local pair missing=()
    for pair in "$@"; do
        command -v "${pair%%:*}" >/dev/null || missing+=("${pair#*:}")
    done
    ((${#missing[@]} == 0)) || die "these packages are missing: ${missing[*]}; './dev setup' installs them"
}

# A hash over what is read, and over files by content.
short() { sha256sum | cut -c 1-12; }
contents() { for f in "$@"; do sha256sum <"$f"; done; }

# As root, or as what looks like root in a namespace of one's own.
rooted() {
    if ((EUID == 0)); then "$@"; else unshare --user --map-root-user --map-auto --mount -- "$@"; fi
}

packages() { sed -e '/^#/d' -e '/^$/d' "$here/image/packages"; }

# make_root SOURCES OUT: the part that needs the network and takes a minute
make_root() {
    local proxy='' options=()
    eval "$(apt-config shell proxy Acquire::http::Proxy)"
    [[ -z $proxy ]] || options+=(--aptopt="Acquire::http::Proxy \"$proxy\"")
    # The preseed is there before the package asks.
    # shellcheck disable=SC2016 # for mmdebstrap's shell
    mmdebstrap --variant=minbase --architectures=amd64 --include="$(packages | paste -sd,)" --format=tar \
        --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/locale/*' \
        --dpkgopt='path-exclude=/usr/share/man/*' --aptopt='APT::Install-Recommends "false"' \
        --aptopt='Acquire::Languages "none"' --aptopt='APT::Sandbox::User "root"' "${options[@]}" \
        --essential-hook='echo kexec-tools kexec-tools/load_kexec boolean false | chroot "$1" debconf-set-selections' \
        bookworm "$2" - <"$1"
}

check_root() { # TAR
    local have
    have=$(tar -xOf "$1" ./var/lib/dpkg/status | awk '/^Package: /{ p = $2 } /^Version: / && p == "kexec-tools" { print $2 }')
    dpkg --compare-versions "${have:-0}" ge "$KEXEC_TOOLS" ||
        die "the mirror has kexec-tools ${have:-not at all}; $KEXEC_TOOLS or later is needed: take a mirror that is up to date"
    tar -xOf "$1" ./etc/default/kexec | grep -qx 'LOAD_KEXEC=false' ||
        die "the root's kexec-tools is set to take over reboots, so the preseeded answer was not taken; see $cache/log"
}

get_root() {
    root_tar=$cache/root-$({ packages && declare -f make_root; } | short).tar
    if [[ ! -s $root_tar ]]; then
        # Its own sources file names this machine's mirrors, in one-line format.
        "$repo/kernel/suite.sh" update bookworm
        step "image: Debian 12 root" "$cache/log/root.log" make_root "$cache/../apt/bookworm/parts/kpcp.list" "$root_tar.new"
        check_root "$root_tar.new"
        mv -- "$root_tar.new" "$root_tar"
        local other
        for other in "$cache"/root-*.tar; do [[ $other == "$root_tar" ]] || rm -f -- "$other"; done
    fi
    touch -- "$root_tar"
}

# assembled OUT DEB...: the disk without GRUB's menu
assembled() {
    local out=$1
    shift
    mkdir -- "$work/inside"
    : >"$out"
    rooted "$here/image/assemble" "$work/inside" "$root_tar" "$here/image/files" "$out" "$UUID" "$SIZE_MIB" "$@"
}

# A file of a disk's root, out and in; what lies under the offset is the partition.
take_out() { debugfs -R "cat $2" "$1?offset=1048576" 2>/dev/null; }
put_in() { # DISK FILE DESTINATION
    local said
    said=$(debugfs -w -f - "$1?offset=1048576" 2>&1 <<END
rm $3
write $2 $3
sif $3 mode 0100644
sif $3 uid 0
sif $3 gid 0
END
    ) || true
    cmp -s -- "$2" <(take_out "$1" "$3") || die "$3 could not be written into the image: $said"
}

# written_menu DISK OUT: boots a throw-away layer over the disk, in which update-grub runs, and takes the menu out of it
written_menu() {
    local disk=$1 out=$2 log=$work/console.log boot=$work/prepare.raw
    cp --sparse=always -- "$disk" "$boot"
    dpkg-deb --fsys-tarfile "$kernel_deb" | tar -xO "./boot/vmlinuz-$release" >"$work/vmlinuz"
    setpriv --pdeathsig KILL timeout --kill-after=5 400 qemu-system-x86_64 -nodefaults -no-user-config -display none \
        -no-reboot -accel tcg,thread=single -cpu max -m 512 -kernel "$work/vmlinuz" \
        -append "console=ttyS0 loglevel=5 panic=-1 cryptomgr.notests root=/dev/vda1 rw init=/usr/lib/kpcp-fleet/prepare" \
        -drive "file=$boot,format=raw,if=virtio,cache=unsafe" -serial "file:$log" </dev/null ||
        { cat -- "$log" && return 1; }
    cat -- "$log"
    tr -d '\r' <"$log" | grep -qx 'kpcp-fleet: the menu is written'
    take_out "$boot" /boot/grub/grub.cfg >"$out"
    rm -f -- "$boot" "$work/vmlinuz"
}

get_menu() { # DISK
    menu=$cache/menu-$({ contents "$kernel_deb" && printf '%s\n' "$UUID" "$root_tar" && contents "$here/image/files/etc/default/grub" \
        "$here/image/files/usr/lib/kpcp-fleet/prepare" && declare -f written_menu; } | short).cfg
    if [[ ! -s $menu ]]; then
        step "image: GRUB's menu, in a short boot" "$cache/log/menu.log" written_menu "$1" "$menu.new"
        grep -qF -- "'gnulinux-$release-advanced-$UUID'" "$menu.new" ||
            die "the menu that update-grub wrote has no entry for $release; see $menu.new and $cache/log/menu.log"
        mv -- "$menu.new" "$menu"
    fi
    touch -- "$menu"
}

finish() { # DISK
    local env=$work/grubenv block
    # GRUB's environment block: 1,024 bytes, filled up with #.
    printf -v block '# GRUB Environment Block\nsaved_entry=gnulinux-advanced-%s>gnulinux-%s-advanced-%s\n' "$UUID" "$release" "$UUID"
    { printf '%s' "$block" && printf '#%.0s' $(seq $((1024 - ${#block}))); } >"$env"
    put_in "$1" "$menu" /boot/grub/grub.cfg
    put_in "$1" "$env" /boot/grub/grubenv
    e2fsck -fn "$1?offset=1048576" >"$cache/log/fsck.log" 2>&1 ||
        die "the image's file system is not clean; see $cache/log/fsck.log"
}

# Only images of the same name, so that one test cannot take another's.
forget_old() {
    local old
    find "$cache" -maxdepth 1 -name "disk-$name-????????????.raw" -printf '%T@ %p\n' | sort -rn | tail -n +5 |
        while read -r _ old; do rm -f -- "$old"; done
}

main() {
    parse "$@"
    PATH=$PATH:/usr/sbin:/sbin
    need mmdebstrap:mmdebstrap qemu-system-x86_64:qemu-system-x86 mke2fs:e2fsprogs debugfs:e2fsprogs sfdisk:fdisk
    ((EUID == 0)) || need newuidmap:uidmap
    cache=$(realpath -m -- "${XDG_CACHE_HOME:-$HOME/.cache}/kpcp/images")
    mkdir -p -- "$cache/log"
    exec 8>"$cache/lock"
    flock 8
    release=$(dpkg-deb --fsys-tarfile "$kernel_deb" | tar -t | sed -n 's,^\./boot/vmlinuz-,,p')
    [[ $release =~ ^[A-Za-z0-9.+_~-]{1,64}$ ]] || die "'$kernel_deb' has no single /boot/vmlinuz-RELEASE, so it is no kernel package"
    get_root
    local image work
    image=$cache/disk-$name-$({ printf '%s\n' "$root_tar" "$UUID $SIZE_MIB" && contents "$kernel_deb" "${extra[@]}" "$0" &&
        find "$here/image" -type f -printf '%P %m\n' | sort && find "$here/image" -type f -print0 | sort -z | xargs -0 sha256sum |
        cut -d ' ' -f 1; } | short).raw
    if [[ ! -s $image ]]; then
        work=$(mktemp -d "$cache/work.XXXXXX")
        # shellcheck disable=SC2064 # as it is now
        trap "rooted rm -rf -- '$work' 2>/dev/null" EXIT
        chmod 0755 "$work"
        step "image: disk with ${#extra[@]} extra packages" "$cache/log/disk.log" assembled "$work/disk.raw" "$kernel_deb" "${extra[@]}"
        get_menu "$work/disk.raw"
        finish "$work/disk.raw"
        chmod 0444 "$work/disk.raw"
        mv -f -- "$work/disk.raw" "$image"
    fi
    touch -- "$image"
    forget_old
    printf '%s\n' "$image"
}

main "$@"
