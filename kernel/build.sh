#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Owns the way from a base and a series to a kernel package: options, the order of the steps, what is printed.
# It must not know how a step is done: that is in lib-*.sh.

# shellcheck source-path=SCRIPTDIR

set -euo pipefail
shopt -s inherit_errexit

PROG=build.sh
KERNEL_DIR=$(dirname "$(realpath -- "${BASH_SOURCE[0]}")")
# shellcheck source=lib-common.sh
. "$KERNEL_DIR/lib-common.sh"
# shellcheck source=lib-source.sh
. "$KERNEL_DIR/lib-source.sh"
# shellcheck source=lib-series.sh
. "$KERNEL_DIR/lib-series.sh"
# shellcheck source=lib-config.sh
. "$KERNEL_DIR/lib-config.sh"
# shellcheck source=lib-deb.sh
. "$KERNEL_DIR/lib-deb.sh"

VERBS=(fetch apply config deb check bisect key compare-config)
OPTIONS=(--base --source --config --flavour --no-series --patch --jobs --name --need-gib --help)

usage() {
	cat <<'END'
usage: build.sh [OPTION...] VERB

  fetch    get the newest source of the base; prints the tarball's path
  apply    unpack it and apply the series, with zero fuzz; prints the tree's path
  config   make the configuration, and fail if a requested option did not take; prints its path
  deb      all of these if need be, compile, package; prints the directory with the .deb, vmlinuz, release, config,
           System.map, build-id and manifest. What was built from the same things before is printed at once
  check    get the newest source of each base and show that its series applies by patch -F0 and by git am
  bisect   compile the sources that the patches touch, after each patch of the series
  key      print what 'deb' would build, by the name of its directory, without building it
  compare-config REQUEST... RESULT
           print the options of the REQUESTs that are different in RESULT, and fail if there are any

  --base NAME|PATH   a file in kernel/bases, or one of your own (default 6.1)
  --source FILE      a tarball of kernel sources instead of the base's Debian package
  --flavour NAME     kernel/config/NAME.config on top of kernel/config/required.config (default guest, without --config)
  --config FILE      start from a distribution's configuration (may be .xz) instead of from nothing
  --no-series        without the base's patches
  --patch FILE       one more patch, after the series; may be given several times
  --name TAG         the variant's tag in the uname (default: the base's tag; stock with --no-series; with --patch
                     the beginning of the patch's file name)
  --jobs N           how many compilers at once (default: processors + 1)
  --need-gib N       how much free space a build asks for (default 6; 40 with --config)

The uname is VERSION+TAG-FLAVOUR-HASH. HASH is over what the kernel is made of: source, patches, configuration, compiler.
Everything is kept under ${XDG_CACHE_HOME:-~/.cache}/kpcp: downloads/, trees/ (shared by all variants), kernels/.
Progress goes to standard error. Exit status: 0, or 1 with a message.
END
}

bad_word() { die "unknown $1 '$2'; did you mean '$(nearest "$2" "${@:3}")'? See $PROG --help"; }

parse_options() {
	local opt value
	VERB='' WORDS=()
	OPT_BASE=6.1 OPT_SOURCE='' OPT_CONFIG='' OPT_FLAVOUR='' OPT_SERIES=1 OPT_PATCHES=() OPT_NAME='' OPT_JOBS=$(($(nproc) + 1)) OPT_GIB=''
	while (($#)); do
		opt=$1
		shift
		case $opt in
		--no-series) OPT_SERIES=0 && continue ;;
		-h | --help) usage && exit 0 ;;
		-*) ;;
		*)
			if [[ -n $VERB ]]; then
				WORDS+=("$opt")
			else
				[[ " ${VERBS[*]} " == *" $opt "* ]] || bad_word verb "$opt" "${VERBS[@]}"
				VERB=$opt
			fi
			continue
			;;
		esac
		value=
		if [[ $opt == --*=* ]]; then
			value=${opt#*=}
			opt=${opt%%=*}
			[[ " ${OPTIONS[*]} " == *" $opt "* ]] || bad_word option "$opt" "${OPTIONS[@]}"
		else
			[[ " ${OPTIONS[*]} " == *" $opt "* ]] || bad_word option "$opt" "${OPTIONS[@]}"
			(($#)) || die "$opt needs a value; see $PROG --help"
			value=$1
			shift
		fi
		[[ -n $value ]] || die "$opt needs a value; see $PROG --help"
		case $opt in
		--base) OPT_BASE=$value ;;
		--source) OPT_SOURCE=$value ;;
		--config) OPT_CONFIG=$value ;;
		--flavour) OPT_FLAVOUR=$value ;;
		--patch) OPT_PATCHES+=("$value") ;;
		--name) OPT_NAME=$value ;;
		--jobs) OPT_JOBS=$value ;;
		--need-gib) OPT_GIB=$value ;;
		--no-series) die "--no-series takes no value" ;;
		esac
	done
	[[ $OPT_JOBS =~ ^[1-9][0-9]{0,3}$ ]] || die "--jobs '$OPT_JOBS' must be a number from 1 to 9999"
	[[ -z $OPT_GIB || $OPT_GIB =~ ^(0|[1-9][0-9]{0,5})$ ]] || die "--need-gib '$OPT_GIB' must be a number from 0 to 999999"
	[[ -z $OPT_NAME || $OPT_NAME =~ ^[a-z][a-z0-9]{0,15}$ ]] ||
		die "--name '$OPT_NAME' must be a lower-case letter and up to 15 more letters and digits, as it becomes part of the uname"
	[[ -z $OPT_FLAVOUR || $OPT_FLAVOUR =~ ^[a-z][a-z0-9-]{0,15}$ ]] || die "--flavour '$OPT_FLAVOUR' must be lower-case letters, digits and -"
	if [[ -z $OPT_GIB ]]; then
		[[ -n $OPT_CONFIG ]] && OPT_GIB=40 || OPT_GIB=6
	fi
}

# What the options mean together: base, flavour, fragments, patches, name.
settle() {
	load_base "$OPT_BASE"
	[[ -n $OPT_FLAVOUR || -n $OPT_CONFIG ]] || OPT_FLAVOUR=guest
	FLAVOUR=${OPT_FLAVOUR:-custom}
	list_fragments
	list_patches
	NAME=$OPT_NAME
	[[ -n $NAME ]] || NAME=$( ((OPT_SERIES)) && printf %s "${BASE[tag]}" || printf stock)
	if [[ -z $OPT_NAME ]] && ((${#OPT_PATCHES[@]})); then
		NAME=${OPT_PATCHES[0]##*/}
		[[ $NAME =~ ^[a-z][a-z0-9]{0,15} ]] || die "--patch ${OPT_PATCHES[0]}: its name does not begin with a lower-case letter, so give the variant a --name"
		NAME=${BASH_REMATCH[0]}
	fi
}

enter_tree() {
	find_source any
	[[ -d $CACHE/trees/$(tree_name)/src ]] || need_space_for_build
	lock_tree
	unpack_tree
}

need_space_for_build() {
	mkdir -p "$CACHE"
	need_space "$CACHE" "$OPT_GIB" "building a kernel"
}

do_deb() {
	find_source any
	make_key
	if result_complete; then
		say "$KEY was built before"
		printf '%s\n' "$RESULT"
		return
	fi
	need_space_for_build
	lock_tree
	if ! result_complete; then
		unpack_tree
		make_release
		say "building $RELEASE"
		apply_variant
		make_config
		compile
		make_result
		say "built $RELEASE"
	fi
	printf '%s\n' "$RESULT"
}

do_check() {
	local file
	for file in "$KERNEL_DIR"/bases/*; do
		load_base "$file"
		OPT_SERIES=1 OPT_PATCHES=() OPT_SOURCE=''
		list_patches
		find_source newest
		unpack_touched
		apply_variant
		git_am_check
		rm -rf "$TREE"
		printf '%s: %s patches apply to %s by patch -F0 and by git am\n' "$BASE_NAME" "${#PATCHES[@]}" "${SOURCE_FILE##*/}"
	done
}

# A patch that does not compile alone makes a later search for a fault's origin end at it.
do_bisect() {
	local all n objects
	enter_tree
	need_headers gelf.h:libelf-dev openssl/opensslv.h:libssl-dev
	make_key
	make_release
	all=("${PATCHES[@]}")
	for ((n = 1; n <= ${#all[@]}; n++)); do
		PATCHES=("${all[@]:0:n}")
		apply_variant
		make_config
		# Tests of the kernel's own are in no guest's configuration.
		mapfile -t objects < <(touched_by "${all[n - 1]}" | sed -n '/tests\//d; s/\.c$/.o/p')
		# Whoever includes a header: the one file that all of the series is about.
		((${#objects[@]})) || objects=(mm/page_alloc.o)
		run_logged "$BASE_NAME patch $n of ${#all[@]}, ${all[n - 1]##*/}" "$TREE/bisect.log" kbuild prepare "${objects[@]}"
	done
	printf '%s: each of %s patches compiles on those before it\n' "$BASE_NAME" "${#all[@]}"
}

main() {
	local file
	(($#)) || { usage >&2 && exit 1; }
	parse_options "$@"
	[[ -n $VERB ]] || die "which verb? One of: ${VERBS[*]}; see $PROG --help"
	if [[ $VERB == compare-config ]]; then
		((${#WORDS[@]} >= 2)) || die "compare-config needs at least one REQUEST and the RESULT"
		for file in "${WORDS[@]}"; do [[ -f $file && -r $file ]] || die "$file: no such file, or not a readable one"; done
		compare_config "${WORDS[@]}" || exit 1
		exit 0
	fi
	((${#WORDS[@]} == 0)) || die "'${WORDS[0]}' is one word too many after '$VERB'; see $PROG --help"
	CACHE=$(cache_root)
	settle
	case $VERB in
	fetch)
		find_source newest
		printf '%s\n' "$SOURCE_FILE"
		;;
	apply)
		enter_tree
		apply_variant
		printf '%s\n' "$SRC"
		;;
	config)
		enter_tree
		apply_variant
		make_config
		printf '%s\n' "$SRC/.config"
		;;
	key)
		find_source any
		make_key
		printf '%s\n' "$KEY"
		;;
	deb) do_deb ;;
	check) do_check ;;
	bisect) do_bisect ;;
	esac
}

# On one line, so that the shell has read all of this file before a long build begins.
main "$@"; exit
