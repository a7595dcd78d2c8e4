#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Owns the installation of what building and testing need and the machine lacks: debian/control's build
# dependencies, and tests/packages.debian. It must not know what any of them is for.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."
. tests/lib/step.sh

. /etc/os-release
case "${ID:-}:${VERSION_ID:-}" in
debian:12 | debian:13) ;;
*) die "this is ${PRETTY_NAME:-an unknown system}; the set-up knows Debian 12 and 13. Install the packages that debian/control and tests/packages.debian name by hand, or work on one of those." ;;
esac

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        die "packages are missing and you are not root, nor is there sudo; run as root: ./dev setup"
    fi
}

apt() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=600 "$@"
}

updated=no
update_once() {
    [ "$updated" = yes ] || apt update
    updated=yes
}

# Prints nothing for a package that is not installed.
have_version() { dpkg-query -W -f '${db:Status-Status} ${Version}\n' "$1" 2>/dev/null | sed -n 's/^installed //p' | head -n 1 || :; }
new_enough() { [ -n "$1" ] && dpkg --compare-versions "$1" ge "$2"; }

# dpkg-checkbuilddeps is itself a build dependency on a machine that is really new.
if ! command -v dpkg-checkbuilddeps >/dev/null || ! dpkg-checkbuilddeps debian/control; then
    update_once
    apt install --no-install-recommends dpkg-dev
    apt build-dep --no-install-recommends ./
fi

missing=()
while read -r name version suite; do
    case "$name" in "" | \#*) continue ;; esac
    have=$(have_version "$name")
    if [ -z "$version" ]; then
        [ -n "$have" ] || missing+=("$name")
    elif ! new_enough "$have" "$version"; then
        update_once
        candidate=$(apt-cache policy "$name" | sed -n 's/^ *Candidate: //p')
        if new_enough "$candidate" "$version"; then
            missing+=("$name")
        else
            as_root env XDG_CACHE_HOME="${XDG_CACHE_HOME:-$HOME/.cache}" kernel/suite.sh install "$suite" "$name"
        fi
    fi
done <tests/packages.debian

if [ ${#missing[@]} -gt 0 ]; then
    update_once
    apt install --no-install-recommends "${missing[@]}"
fi
echo "everything is installed"
