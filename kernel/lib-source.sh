# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Owns where a base's source comes from: the files in bases/, the download, the unpacked tree.
# It must not know about patches, configurations or packages.

BASE_OPTIONAL=(renamed gone added)
BASE_KEYS=(debian_package debian_suites version_from version_below series tag modules_dir)

# load_base NAME-or-PATH: sets BASE_NAME, BASE_FILE and the array BASE. Strict: a typing error must not pick another source.
load_base() {
	local name=$1 line key value lineno=0 known
	if [[ $name == */* ]]; then
		BASE_FILE=$name
	else
		BASE_FILE=$KERNEL_DIR/bases/$name
		if [[ ! -f $BASE_FILE ]]; then
			local all
			mapfile -t all < <(cd "$KERNEL_DIR/bases" && printf '%s\n' *)
			die "there is no base '$name'; did you mean '$(nearest "$name" "${all[@]}")'? The bases are the files in kernel/bases"
		fi
	fi
	[[ -f $BASE_FILE ]] || die "the base file $BASE_FILE does not exist"
	BASE_NAME=${BASE_FILE##*/}
	declare -gA BASE=()
	while IFS= read -r line || [[ -n $line ]]; do
		lineno=$((lineno + 1))
		[[ $line =~ ^[[:space:]]*(#.*)?$ ]] && continue
		[[ $line =~ ^([a-z_]+)\ *=\ *(.*)$ ]] ||
			die "$BASE_FILE line $lineno: '$line' is not 'key = value'"
		key=${BASH_REMATCH[1]} value=${BASH_REMATCH[2]}
		value=${value%"${value##*[![:space:]]}"}
		known=0
		[[ " ${BASE_KEYS[*]} ${BASE_OPTIONAL[*]} " == *" $key "* ]] && known=1
		((known)) || die "$BASE_FILE line $lineno: unknown key '$key'; did you mean '$(nearest "$key" "${BASE_KEYS[@]}" "${BASE_OPTIONAL[@]}")'?"
		[[ -z ${BASE[$key]+x} ]] || die "$BASE_FILE line $lineno: '$key' is given twice; keep one"
		[[ -n $value ]] || die "$BASE_FILE line $lineno: '$key' has no value"
		BASE[$key]=$value
	done <"$BASE_FILE"
	for key in "${BASE_KEYS[@]}"; do
		[[ -n ${BASE[$key]+x} ]] || die "$BASE_FILE: the key '$key' is missing"
	done
	[[ ${BASE[tag]} =~ ^[a-z][a-z0-9]*$ ]] || die "$BASE_FILE: tag '${BASE[tag]}' must be lower-case letters and digits, as it becomes part of the uname"
	[[ ${BASE[modules_dir]} == /lib/modules || ${BASE[modules_dir]} == /usr/lib/modules ]] ||
		die "$BASE_FILE: modules_dir '${BASE[modules_dir]}' must be /lib/modules or /usr/lib/modules"
	[[ ${BASE[renamed]-} =~ ^([A-Z0-9_]+:[A-Z0-9_]+( +|$))*$ ]] || die "$BASE_FILE: renamed '${BASE[renamed]}' must be pairs OLD:NEW of options"
	for key in gone added; do
		[[ ${BASE[$key]-} =~ ^([A-Z0-9_]+( +|$))*$ ]] || die "$BASE_FILE: $key '${BASE[$key]}' must be names of options"
	done
	# shellcheck disable=SC2034 # for lib-series.sh
	SERIES_DIR=$(cd "$(dirname "$BASE_FILE")" && realpath -m -- "${BASE[series]}")
}

version_le() { [[ $(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1) == "$1" ]]; }

# What was fetched last for this base: file, version, sha256 and package, one "key=value" a line.
record_file() { printf '%s/downloads/%s.source' "$CACHE" "$BASE_NAME"; }

# fetch_debian WHEN: "newest" asks the archive, "any" takes what is there. Sets SOURCE_FILE, SOURCE_VERSION, SOURCE_SHA.
fetch_debian() {
	local when=$1 record deb version suite name tmp
	record=$(record_file)
	mkdir -p "$CACHE/downloads"
	exec 7>"$CACHE/downloads/lock"
	flock 7
	if [[ $when == any ]] && read_record "$record"; then
		exec 7>&-
		return 0
	fi
	need_tools apt-get:apt dpkg-deb:dpkg tar:tar xz:xz-utils
	for suite in ${BASE[debian_suites]}; do
		version=$("$KERNEL_DIR/suite.sh" newest "$suite" "${BASE[debian_package]}" | awk '{ print $2 }') && break
	done
	[[ -n $version ]] || die "${BASE[debian_package]} is in none of: ${BASE[debian_suites]}; see $BASE_FILE"
	name=${BASE[debian_package]}_$version.tar.xz
	if read_record "$record" && [[ $SOURCE_VERSION == "$version" ]]; then
		say "${BASE[debian_package]} $version is the newest, and is here already"
		exec 7>&-
		return 0
	fi
	need_space "$CACHE/downloads" 1 "the download of ${BASE[debian_package]}"
	deb=$("$KERNEL_DIR/suite.sh" download "$suite" "${BASE[debian_package]}")
	tmp=$(mktemp "$CACHE/downloads/.new.XXXXXX")
	dpkg-deb --fsys-tarfile "$deb" | tar -x --to-stdout "./usr/src/${BASE[debian_package]}.tar.xz" >"$tmp" ||
		die "$deb holds no usr/src/${BASE[debian_package]}.tar.xz"
	rm -f "$deb"
	mv -f "$tmp" "$CACHE/downloads/$name"
	printf 'package=%s\nversion=%s\nsha256=%s\nfile=%s\n' "${BASE[debian_package]}" "$version" \
		"$(short_hash "$CACHE/downloads/$name" 64)" "$name" >"$record.new"
	mv -f "$record.new" "$record"
	exec 7>&-
	read_record "$record" || die "$record was written but cannot be read back"
	say "fetched ${BASE[debian_package]} $version, sha256 $SOURCE_SHA"
}

read_record() {
	local file version sha
	[[ -s $1 ]] || return 1
	file=$(sed -n 's/^file=//p' "$1") version=$(sed -n 's/^version=//p' "$1") sha=$(sed -n 's/^sha256=//p' "$1")
	[[ $file =~ ^[A-Za-z0-9._+~-]+$ && $sha =~ ^[0-9a-f]{64}$ && -s $CACHE/downloads/$file ]] || return 1
	SOURCE_FILE=$CACHE/downloads/$file SOURCE_VERSION=$version SOURCE_SHA=$sha
}

# find_source WHEN: the tarball to build from, by --source or from Debian.
find_source() {
	if [[ -n $OPT_SOURCE ]]; then
		[[ -e $OPT_SOURCE ]] || die "--source $OPT_SOURCE: no such file"
		[[ -f $OPT_SOURCE && -r $OPT_SOURCE ]] || die "--source $OPT_SOURCE: not a readable file; give a tarball of kernel sources"
		local first
		# An absolute path: tar takes "a:b" for a file on another machine.
		SOURCE_FILE=$(realpath -- "$OPT_SOURCE")
		first=$(tar -tf "$SOURCE_FILE" 2>/dev/null | head -n 1 || true)
		[[ -n $first ]] || die "--source $OPT_SOURCE: not a tarball that tar can read; give a kernel source as .tar, .tar.xz, .tar.gz or .tar.zst"
		SOURCE_SHA=$(short_hash "$SOURCE_FILE" 64)
		SOURCE_VERSION='file'
	else
		fetch_debian "$1"
	fi
}

# The object tree that all variants of this source and flavour share.
tree_name() { printf '%s-%s-%s' "$BASE_NAME" "$FLAVOUR" "${SOURCE_SHA:0:12}"; }

lock_tree() {
	TREE=$CACHE/trees/$(tree_name)
	SRC=$TREE/src
	mkdir -p "$CACHE/trees"
	exec 8>"$TREE.lock"
	trap 'rm -rf "$TREE"/.scratch*' EXIT
	flock -n 8 && return 0
	say "waiting for another build in $TREE"
	flock 8
}

unpack_tree() {
	if [[ ! -d $SRC ]]; then
		local tmp
		say "unpacking ${SOURCE_FILE##*/}"
		tmp=$(mktemp -d "$CACHE/trees/.unpack.XXXXXX")
		mkdir "$tmp/src"
		if ! tar -xf "$SOURCE_FILE" -C "$tmp/src" --strip-components=1 2>"$tmp/log"; then
			tail -n 3 "$tmp/log" >&2
			rm -rf "$tmp"
			die "$SOURCE_FILE could not be unpacked; it is truncated or no tarball"
		fi
		if [[ ! -f $tmp/src/Makefile || ! -f $tmp/src/Kbuild ]]; then
			rm -rf "$tmp"
			die "$SOURCE_FILE is not a kernel source: it has no Makefile and Kbuild in its top folder"
		fi
		rm -f "$tmp/log"
		rm -rf "$TREE"
		mv "$tmp" "$TREE"
	fi
	read_kernel_version
}

# Sets KERNEL_VERSION (6.1.192) and SOURCE_DATE_EPOCH, which is when the source was made.
read_kernel_version() {
	local makefile=$SRC/Makefile
	[[ ! -f $TREE/pristine/Makefile ]] || makefile=$TREE/pristine/Makefile
	KERNEL_VERSION=$(awk -F' *= *' '/^VERSION/ { v = $2 } /^PATCHLEVEL/ { p = $2 } /^SUBLEVEL/ { s = $2 }
		/^EXTRAVERSION/ { e = $2; exit } END { print v "." p "." s e }' "$makefile")
	[[ $KERNEL_VERSION =~ ^[0-9]+\.[0-9]+\.[0-9]+ ]] || die "$makefile names no kernel version"
	if ! version_le "${BASE[version_from]}" "$KERNEL_VERSION" || version_le "${BASE[version_below]}" "$KERNEL_VERSION"; then
		die "the source is $KERNEL_VERSION, and base $BASE_NAME is for ${BASE[version_from]} up to below ${BASE[version_below]}; choose another --base"
	fi
	SOURCE_DATE_EPOCH=$(stat -c %Y "$makefile")
	export SOURCE_DATE_EPOCH
}
