#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Owns a signed apt repository for the fleet: its key, and its content as a folder that is replaced in one step.
# It must not know what the packages are, nor who serves them.

set -euo pipefail

PROG=repo.sh
SUITE=fleet
KEEP=3

usage() {
    cat <<END
usage: tests/fleet/repo.sh OUT DEB...

Makes OUT/repo, a signed apt repository that any web server can serve, and OUT/key/public.asc for Signed-By:

    deb [signed-by=/etc/apt/keyrings/fleet.asc] http://HOST:PORT/ $SUITE main

Called again, it adds DEBs to it: OUT/repo is a link, which is replaced at once. All versions that were there stay. The
same name, version and architecture with another content is refused. The key is made by the first call; OUT/key/private.asc
signs. Prints the path of OUT/repo. Exit status: 0, or 1 with a message and the repository as it was.
END
}

die() {
    printf '%s: error: %s\n' "$PROG" "$*" >&2
    exit 1
}

# Hosts whose clocks are behind must not find a signature or an index from the future.
behind() { date -u -d '-1 day' "$@"; }

# GnuPG with a home of its own for this one call. It warns of the clock each time, so what it says is for failures only.
with_gpg() {
    gpg --homedir "$work/gnupg" --batch --quiet --no-tty --faked-system-time "$(behind +%s)" "$@" 2>"$work/gpg.log" && return
    cat -- "$work/gpg.log" >&2
    die "gpg $1 failed; its words are above"
}

make_key() {
    mkdir -p -- "$out/key"
    with_gpg --passphrase '' --quick-generate-key 'kpcp test fleet' ed25519 sign never
    (umask 077 && with_gpg --armor --export-secret-keys >"$out/key/private.asc.new")
    with_gpg --armor --export >"$out/key/public.asc"
    mv -- "$out/key/private.asc.new" "$out/key/private.asc"
}

open_key() {
    install -d -m 0700 "$work/gnupg"
    if [[ -s $out/key/private.asc ]]; then
        with_gpg --import "$out/key/private.asc"
    else
        make_key
    fi
}

# Links where it can: a version of the repository costs its indexes only.
add_old() {
    local name
    [[ -d $out/repo/ ]] || return 0
    for name in pool dists; do cp -al -- "$(realpath -- "$out/repo")/$name" "$new/"; done
    # The indexes by hash stay, for who has just read the list of them; the others are written anew, not through the links.
    find "$new/dists" -type f -not -path '*/by-hash/*' -delete
}

add_debs() {
    local deb name place
    for deb in "$@"; do
        # shellcheck disable=SC2016 # dpkg-deb's own format
        name=$(dpkg-deb -W --showformat='${Package}_${Version}_${Architecture}.deb' "$deb" 2>/dev/null) ||
            die "'$deb' is no Debian package that can be read"
        name=${name//:/%3a}
        place=$new/pool/$name
        if [[ -e $place ]]; then
            cmp -s -- "$deb" "$place" || die "$name is in the repository with another content; give '$deb' a higher version"
            continue
        fi
        cp -- "$deb" "$place"
    done
}

write_indexes() {
    local dist=dists/$SUITE index sum
    cd -- "$new"
    mkdir -p "$dist/main/binary-amd64/by-hash/SHA256"
    apt-ftparchive -o "APT::FTPArchive::MD5=false" -o "APT::FTPArchive::SHA1=false" packages pool >"$dist/main/binary-amd64/Packages"
    gzip -9nk "$dist/main/binary-amd64/Packages"
    for index in "$dist"/main/binary-amd64/Packages*; do
        sum=$(sha256sum <"$index")
        cp -f -- "$index" "$dist/main/binary-amd64/by-hash/SHA256/${sum%% *}"
    done
    apt-ftparchive -o "APT::FTPArchive::Release::Origin=kpcp" -o "APT::FTPArchive::Release::Label=kpcp test fleet" \
        -o "APT::FTPArchive::Release::Suite=$SUITE" -o "APT::FTPArchive::Release::Codename=$SUITE" \
        -o "APT::FTPArchive::Release::Architectures=amd64" -o "APT::FTPArchive::Release::Components=main" \
        -o "APT::FTPArchive::Release::Acquire-By-Hash=yes" \
        -o "APT::FTPArchive::MD5=false" -o "APT::FTPArchive::SHA1=false" -o "APT::FTPArchive::SHA512=false" \
        release "$dist" | sed -e "s/^Date: .*/Date: $(LC_ALL=C behind '+%a, %d %b %Y %H:%M:%S +0000')/" >"$work/Release"
    # Files by hash are named by what they are; the list is of the indexes.
    sed -i '/ main\/binary-amd64\/by-hash\//d' "$work/Release"
    mv -- "$work/Release" "$dist/Release"
    with_gpg --clearsign --output "$dist/InRelease" "$dist/Release"
    with_gpg --armor --detach-sign --output "$dist/Release.gpg" "$dist/Release"
    cd -- "$out"
}

forget_old() {
    local old
    find "$out" -maxdepth 1 -name '.version-*' -printf '%T@ %p\n' | sort -rn | tail -n "+$((KEEP + 1))" |
        while read -r _ old; do rm -rf -- "$old"; done
}

main() {
    case ${1-} in
    -h | --help)
        usage
        exit 0
        ;;
    esac
    (($# >= 2)) || die "it needs a folder and at least one package; see --help"
    local program work new debs=()
    for program in apt-ftparchive gpg dpkg-deb; do
        command -v "$program" >/dev/null || die "$program is not installed; './dev setup' installs it"
    done
    out=$(realpath -m -- "$1")
    shift
    local deb
    for deb in "$@"; do debs+=("$(realpath -m -- "$deb")"); done
    mkdir -p -- "$out"
    exec 8>"$out/.lock"
    flock 8
    # Not below OUT: the path of the agent's socket would be too long there.
    work=$(mktemp -d)
    new=$(mktemp -d "$out/.version-XXXXXX")
    # shellcheck disable=SC2064 # as it is now
    trap "gpgconf --homedir '$work/gnupg' --kill all 2>/dev/null; rm -rf -- '$work' \$unfinished" EXIT
    unfinished=$new
    chmod 0755 "$new"
    mkdir -p -- "$new/pool"
    open_key
    add_old
    add_debs "${debs[@]}"
    write_indexes
    ln -s -- "${new##*/}" "$work/repo"
    mv -T -- "$work/repo" "$out/.repo.new"
    mv -T -- "$out/.repo.new" "$out/repo"
    unfinished=''
    forget_old
    printf '%s\n' "$out/repo"
}

main "$@"
