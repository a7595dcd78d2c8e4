# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2154 # version and image_path are set by the scripts that this becomes a part of
# run_hooks SCRIPT ARGUMENT...: the hooks of other packages, for example an initramfs or a boot loader.
# Their standard output goes to standard error, as debconf may be reading it.
run_hooks() {
	script=$1
	shift
	if command -v linux-run-hooks >/dev/null; then
		linux-run-hooks image "$script" "$version" "$image_path" -- "$@" >&2
		return
	fi
	# One directory a call: run-parts of Debian 12 and Ubuntu 24.04 takes no more.
	for dir in "/etc/kernel/$script.d" "/usr/share/kernel/$script.d"; do
		if [ -d "$dir" ]; then
			DEB_MAINT_PARAMS="$*" run-parts --report --exit-on-error --arg="$version" --arg="$image_path" "$dir" >&2
		fi
	done
}
