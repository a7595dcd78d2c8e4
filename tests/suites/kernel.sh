#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The kernel suite: the series applies with zero fuzz, and the three guest kernels build and are packaged.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
. tests/lib/tap.sh
. tests/lib/kernels.sh

builds() {
    local dir
    dir=$(kernel_build "$1") && ls "$dir"/*.deb "$dir/vmlinuz" >/dev/null && echo "## $1: $(cat "$dir/release")"
}
# What a host needs to boot it and to be rid of it again, and that its maintainer scripts are shell.
packaged() {
    local dir deb v script tmp
    tmp=$(mktemp -d)
    # shellcheck disable=SC2064 # this folder, now
    trap "rm -rf '$tmp'" EXIT
    dir=$(kernel_build "$1") deb=$(echo "$dir"/linux-image-*.deb) v=$(<"$dir/release")
    dpkg-deb -c "$deb" | awk '{ print $6 }' >"$tmp/contents"
    for f in "boot/vmlinuz-$v" "boot/config-$v" "boot/System.map-$v" "lib/modules/$v/modules.order" "lib/modules/$v/modules.builtin"; do
        grep -qxF "./$f" "$tmp/contents" || { echo "$deb lacks $f"; return 1; }
    done
    for script in preinst postinst prerm postrm; do
        dpkg-deb --ctrl-tarfile "$deb" | tar -xO "./$script" >"$tmp/script"
        sh -n "$tmp/script"
        grep -qF "version=$v" "$tmp/script"
    done
    [ "$(dpkg-deb -f "$deb" Package)" = "linux-image-$v" ]
    dpkg-deb --fsys-tarfile "$deb" | tar -xO "./boot/vmlinuz-$v" | cmp - "$dir/vmlinuz"
}
distinct() {
    local v releases
    releases=$(for v in stock kpcp slow; do cat "$(kernel_build $v)/release"; done)
    [ "$(sort -u <<<"$releases" | wc -l)" -eq 3 ] || { echo "$releases"; return 1; }
}

tap "every series applies to its newest source with zero fuzz" kernel/build.sh check
for variant in stock kpcp slow; do
    tap "the $variant guest kernel is built" builds $variant
    tap "the $variant guest kernel's package holds what a host needs" packaged $variant
done
tap "no two kernels share a uname" distinct
tap_end
