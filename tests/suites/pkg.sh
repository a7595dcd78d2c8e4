#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The pkg suite: the packages that debian/ makes, built from a clean copy of the tracked files, and looked into.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
. tests/lib/tap.sh

top=$PWD
dir=${KPCP_BUILD:-$PWD/build}/pkg
rm -rf "$dir"
mkdir -p "$dir/src"

copy_sources() { git ls-files --cached --others --exclude-standard -z | tar -C "$top" --null -T - -c --ignore-failed-read | tar -C "$dir/src" -x; }
build_packages() { cd "$dir/src" && dpkg-buildpackage -us -uc -b; }
deb() { echo "$dir"/kpcp-canary_*.deb; }
contents() {
    dpkg-deb -c "$(deb)" | awk '{ print $6 }' | sort >"$dir/contents"
    grep -qx './usr/bin/kpcp-canary' "$dir/contents"
    # Only what a package of one program has: its program and its documentation.
    ! grep -vE '^\./($|usr/($|bin/($|kpcp-canary$)|share/($|doc/($|kpcp-canary/)|man/)))' "$dir/contents"
}
runs() {
    dpkg-deb -x "$(deb)" "$dir/root"
    "$dir/root/usr/bin/kpcp-canary" --version | grep -q "kpcp-canary $(dpkg-deb -f "$(deb)" Version)\$"
}
lint_package() { lintian --allow-root --fail-on error "$(deb)"; }

tap "a copy of the sources" copy_sources
tap "dpkg-buildpackage, its tests included" build_packages
tap "the package has the program and its documentation, nothing else" contents
tap "the packaged program runs and says the package's version" runs
tap "lintian reports no error" lint_package
tap_end
