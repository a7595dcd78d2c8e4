# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Owns what a build is made of (its key), compiling it, the package, and the result's directory.
# It must not know where sources come from or how patches are applied.

# Counted up when kbuild() below makes other bytes of the same source.
RECIPE=2

# All of it is read: a tool that finds its pipe closed fails.
tool_version() { "$@" --version 2>/dev/null | awk 'NR == 1'; }

# What the kernel is made of, one "key=value" a line: the hash of this is part of the uname.
kernel_inputs() {
	local p
	printf 'recipe=%s\n' "$RECIPE"
	printf 'base=%s\nflavour=%s\nname=%s\nsource_sha256=%s\n' "$BASE_NAME" "$FLAVOUR" "$NAME" "$SOURCE_SHA"
	for p in "${PATCHES[@]}"; do
		printf 'patch=%s %s\n' "$(short_hash "$p" 64)" "${p##*/}"
	done
	for p in ${OPT_CONFIG:+"$OPT_CONFIG"} "${FRAGMENTS[@]}"; do
		printf 'config=%s %s\n' "$(short_hash "$p" 64)" "${p##*/}"
	done
	printf 'compiler=%s\nlinker=%s\npahole=%s\n' "$(tool_version gcc)" "$(tool_version ld)" "$(tool_version pahole)"
}

# What the package is made of besides the kernel.
packaging_inputs() {
	cat "$KERNEL_DIR/lib-deb.sh" "$KERNEL_DIR"/deb/* | short_hash - 64
	tool_version dpkg-deb
	printf '%s\n' "${BASE[modules_dir]}"
}

# make_key: sets KERNEL_HASH (in the uname) and KEY (the result's directory).
make_key() {
	KERNEL_HASH=$(kernel_inputs | short_hash - 8)
	KEY=$BASE_NAME-$FLAVOUR-$NAME-$KERNEL_HASH-$(packaging_inputs | short_hash - 6)
	RESULT=$CACHE/kernels/$KEY
}

# make_release: the uname; needs KERNEL_VERSION.
make_release() {
	LOCAL_VERSION=+$NAME-$FLAVOUR-$KERNEL_HASH
	RELEASE=$KERNEL_VERSION$LOCAL_VERSION
	[[ $RELEASE =~ ^[a-z0-9.+-]+$ ]] || die "the uname would be '$RELEASE': only lower-case letters, digits and . + - are allowed; see --name and --flavour"
	((${#RELEASE} <= 64)) || die "the uname '$RELEASE' has ${#RELEASE} characters, and 64 is the most; choose a shorter --name"
}

# kbuild TARGET...: the variables make the same source give the same bytes on any machine, at any time, in any folder.
kbuild() {
	local flags="-fdebug-prefix-map=$SRC=." btf=()
	# With -j, pahole writes the types in another order each time.
	if [[ -f $SRC/scripts/pahole-flags.sh ]]; then
		btf=("PAHOLE_FLAGS=$(PAHOLE=pahole sh "$SRC/scripts/pahole-flags.sh" | sed -E 's/(^| )-j[0-9]*( |$)/ /')")
	fi
	KBUILD_BUILD_TIMESTAMP="$(LC_ALL=C date -u -d "@$SOURCE_DATE_EPOCH")" KBUILD_BUILD_USER=kpcp KBUILD_BUILD_HOST=kpcp \
		KBUILD_BUILD_VERSION=1 make_src -j"$OPT_JOBS" "LOCALVERSION=$LOCAL_VERSION" "KCFLAGS=$flags" "KAFLAGS=$flags" "${btf[@]}" "$@"
}

compile() {
	local got
	need_tools gcc:gcc make:make bc:bc flex:flex bison:bison pahole:pahole depmod:kmod dpkg-deb:dpkg readelf:binutils \
		lz4:lz4 xz:xz-utils
	need_headers gelf.h:libelf-dev openssl/opensslv.h:libssl-dev
	# Before the long part: the uname that the source makes of it.
	kbuild -s include/config/kernel.release >"$TREE/release.log" 2>&1 </dev/null || die "make include/config/kernel.release failed; the log is $TREE/release.log"
	got=$(cat "$SRC/include/config/kernel.release")
	[[ $got == "$RELEASE" ]] || die "this source calls itself '$got' instead of '$RELEASE'; it has a localversion file or an EXTRAVERSION of its own: remove it"
	run_logged "compiling $RELEASE with $OPT_JOBS jobs" "$TREE/build-$NAME.log" kbuild bzImage modules
}

# The package's scripts: the template, with the hooks' function and the two values put in.
maintainer_script() {
	awk -v version="$RELEASE" -v modules="${BASE[modules_dir]}" -v hooks="$KERNEL_DIR/deb/run-hooks.sh" '
		$0 == "@RUN_HOOKS@" { while ((getline line < hooks) > 0) if (line !~ /^# (SPDX|shellcheck)/) print line; next }
		{ gsub(/@VERSION@/, version); gsub(/@MODULES_DIR@/, modules); print }' "$KERNEL_DIR/deb/$1.in"
}

control_file() {
	local initramfs='Depends: kmod, linux-base, initramfs-tools | linux-initramfs-tool'
	[[ $FLAVOUR != guest ]] || initramfs='Depends: kmod, linux-base'
	cat <<END
Package: linux-image-$RELEASE
Source: kpcp
Version: $PACKAGE_VERSION
Architecture: $(dpkg --print-architecture)
Maintainer: kpcp developers <kpcp@kpcp.invalid>
Installed-Size: $1
$initramfs
Section: kernel
Priority: optional
Description: Linux $KERNEL_VERSION, $FLAVOUR flavour, variant $NAME
 A kernel built by kpcp from ${SOURCE_FILE##*/}
 with ${#PATCHES[@]} patches. Its uname is $RELEASE,
 which no other build has.
END
}

copyright_file() {
	cat <<END
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: linux
Comment: built by kpcp from ${SOURCE_FILE##*/}, sha256 $SOURCE_SHA

Files: *
Copyright: 1991-2026 Linus Torvalds and many others
License: GPL-2

License: GPL-2
 On Debian systems the GNU General Public License version 2 is in
 /usr/share/common-licenses/GPL-2.
END
}

# stage_files DIRECTORY: the package's files.
stage_files() {
	local root=$1 modules=${BASE[modules_dir]} doc="$1/usr/share/doc/linux-image-$RELEASE" stray
	mkdir -p "$root/boot" "$doc"
	cp "$SRC/arch/x86/boot/bzImage" "$root/boot/vmlinuz-$RELEASE"
	cp "$SRC/.config" "$root/boot/config-$RELEASE"
	cp "$SRC/System.map" "$root/boot/System.map-$RELEASE"
	run_logged "installing modules" "$TREE/modules-$NAME.log" kbuild "INSTALL_MOD_PATH=$root/${modules%/lib/modules}" \
		INSTALL_MOD_STRIP=1 DEPMOD=true modules_install
	rm -f "$root$modules/$RELEASE"/{build,source}
	for stray in "$root$modules/$RELEASE"/modules.*; do
		case ${stray##*/} in
		modules.order | modules.builtin | modules.builtin.modinfo) ;;
		*) rm -f "$stray" ;;
		esac
	done
	copyright_file >"$doc/copyright"
	printf 'kpcp (%s) unstable; urgency=low\n\n  * Built from %s.\n\n -- kpcp developers <kpcp@kpcp.invalid>  %s\n' "$PACKAGE_VERSION" \
		"${SOURCE_FILE##*/}" "$(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")" | gzip -9n >"$doc/changelog.Debian.gz"
	find "$root" -type d -exec chmod 755 {} +
	find "$root" -type f -exec chmod 644 {} +
}

# make_deb DIRECTORY: the package is put there.
make_deb() {
	local root=$TREE/.stage script size
	PACKAGE_VERSION=$KERNEL_VERSION-${SOURCE_VERSION##*-}+$NAME
	[[ $SOURCE_VERSION != file ]] || PACKAGE_VERSION=$KERNEL_VERSION-0+$NAME
	rm -rf "$root"
	stage_files "$root"
	size=$(find "$root" -type f -printf '%s\n' | awk '{ k += int(($1 + 1023) / 1024) } END { print k + 0 }')
	mkdir "$root/DEBIAN"
	(cd "$root" && find boot lib usr -type f 2>/dev/null | LC_ALL=C sort | xargs -d '\n' md5sum) >"$root/DEBIAN/md5sums"
	control_file "$size" >"$root/DEBIAN/control"
	for script in preinst postinst prerm postrm; do
		maintainer_script "$script" >"$root/DEBIAN/$script"
		chmod 755 "$root/DEBIAN/$script"
	done
	find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
	dpkg-deb --root-owner-group -Zxz --threads-max=1 --build "$root" "$1" >&2 || die "dpkg-deb failed; the files are in $root"
	rm -rf "$root"
}

# make_result: the result's directory, complete or not there at all.
make_result() {
	local tmp
	mkdir -p "$CACHE/kernels"
	tmp=$(mktemp -d "$CACHE/kernels/.new.XXXXXX")
	chmod 755 "$tmp"
	make_deb "$tmp"
	cp "$SRC/arch/x86/boot/bzImage" "$tmp/vmlinuz"
	cp "$SRC/.config" "$tmp/config"
	cp "$SRC/System.map" "$tmp/System.map"
	readelf -n "$SRC/vmlinux" 2>/dev/null | awk '/Build ID:/ { print $3; exit }' >"$tmp/build-id"
	[[ -s $tmp/build-id ]] || die "the linked kernel has no build id; see $TREE/build-$NAME.log"
	printf '%s\n' "$RELEASE" >"$tmp/release"
	{
		printf 'key=%s\nrelease=%s\nkernel_version=%s\nsource_file=%s\nsource_version=%s\nsource_date_epoch=%s\n' "$KEY" "$RELEASE" \
			"$KERNEL_VERSION" "${SOURCE_FILE##*/}" "$SOURCE_VERSION" "$SOURCE_DATE_EPOCH"
		kernel_inputs
		(cd "$tmp" && sha256sum -- *.deb vmlinuz config System.map | sed 's/^\([0-9a-f]*\)  \(.*\)/sha256=\1 \2/')
	} >"$tmp/manifest"
	sync -f "$tmp"
	rm -rf "$RESULT"
	mv -T "$tmp" "$RESULT"
}

result_complete() { [[ -s $RESULT/manifest ]] && compgen -G "$RESULT/*.deb" >/dev/null; }
