# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Owns the configuration: what is asked for, and the comparison with what Kconfig made of it.
# It must not know about patches or packages.

# list_fragments: sets the array FRAGMENTS, in the order in which later ones win.
list_fragments() {
	local f all
	FRAGMENTS=("$KERNEL_DIR/config/required.config")
	if [[ -n $OPT_FLAVOUR ]]; then
		f=$KERNEL_DIR/config/$OPT_FLAVOUR.config
		if [[ ! -f $f ]]; then
			mapfile -t all < <(cd "$KERNEL_DIR/config" && printf '%s\n' *.config | sed 's/\.config$//' | grep -vx required)
			die "there is no flavour '$OPT_FLAVOUR'; did you mean '$(nearest "$OPT_FLAVOUR" "${all[@]}")'?"
		fi
		FRAGMENTS+=("$f")
	fi
	[[ -z ${BASE[renamed]-}${BASE[gone]-}${BASE[added]-} ]] || fit_fragments
	[[ -z $OPT_CONFIG || -e $OPT_CONFIG ]] || die "--config $OPT_CONFIG: no such file"
	[[ -z $OPT_CONFIG || (-f $OPT_CONFIG && -r $OPT_CONFIG) ]] || die "--config $OPT_CONFIG: not a readable file; give a kernel configuration"
}

# fit_fragments: the fragments have the options of the oldest base; other bases renamed some, dropped some, and need others
# for the same purpose.
fit_fragments() {
	local word f out=$CACHE/config/$BASE_NAME files=() rules=()
	mkdir -p "$out"
	for word in ${BASE[gone]-}; do rules+=(-e "/\\bCONFIG_$word\\b/d"); done
	for word in ${BASE[renamed]-}; do rules+=(-e "s/\\bCONFIG_${word%:*}\\b/CONFIG_${word#*:}/"); done
	for f in "${FRAGMENTS[@]}"; do
		{
			sed -e "" "${rules[@]}" "$f"
			[[ $f != */required.config ]] || for word in ${BASE[added]-}; do printf 'CONFIG_%s=y\n' "$word"; done
		} >"$out/.new.$$"
		mv -f "$out/.new.$$" "$out/${f##*/}"
		files+=("$out/${f##*/}")
	done
	FRAGMENTS=("${files[@]}")
}

# compare_config REQUEST... RESULT: prints one line for each option that did not take; fails if there is one.
compare_config() {
	local files=("${@/#/./}")
	files=("${files[@]/#.\/\///}")
	# Paths with a slash, as awk takes "a=b" for an assignment; and the last by its name, as an empty file has no line.
	awk '
		function note(name, value) { if (last) got[name] = value; else { want[name] = value; if (!(name in nr)) { nr[name] = ++n; order[n] = name } } }
		FNR == 1 { last = (FILENAME == ARGV[ARGC - 1]) }
		{ sub(/\r$/, "") }
		/^CONFIG_[A-Za-z0-9_]+=/ { i = index($0, "="); note(substr($0, 1, i - 1), substr($0, i + 1)); next }
		/^# CONFIG_[A-Za-z0-9_]+ is not set$/ { note($2, "n"); next }
		/^[[:space:]]*(#.*)?$/ { next }
		!last { printf "%s line %d: \"%s\" is neither an option nor a comment\n", FILENAME, FNR, $0; bad++ }
		END {
			for (i = 1; i <= n; i++) {
				name = order[i]; w = want[name]; g = (name in got) ? got[name] : "n"
				if (w == g || (w == "\"\"" && !(name in got))) continue
				printf "%s: wanted %s, got %s%s\n", name, w, g, (name in got) ? "" : " (not in the result)"
				bad++
			}
			exit bad ? 1 : 0
		}' "${files[@]}"
}

make_src() {
	env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u ARCH -u CROSS_COMPILE -u CFLAGS -u LDFLAGS -u KCONFIG_ALLCONFIG -u KCFLAGS -u KAFLAGS \
		LC_ALL=C TZ=UTC make -C "$SRC" "$@"
}

# make_config: the tree's .config, written only if it is another one and only if everything requested took.
make_config() {
	local new=$TREE/.config.new log=$TREE/config.log wrong
	need_tools make:make gcc:gcc flex:flex bison:bison bc:bc pahole:pahole
	rm -f "$new" "$new.old"
	if [[ -n $OPT_CONFIG ]]; then
		{
			case $OPT_CONFIG in
			*.xz) xz -dc -- "$OPT_CONFIG" ;;
			*) cat -- "$OPT_CONFIG" ;;
			esac
			cat "${FRAGMENTS[@]}"
		} >"$new"
		cp "$new" "$TREE/config.start"
		run_logged "configuring from ${OPT_CONFIG##*/}" "$log" make_src "KCONFIG_CONFIG=$new" olddefconfig
		report_dropped "$TREE/config.start" "$new"
	else
		cat "${FRAGMENTS[@]}" >"$TREE/config.start"
		run_logged "configuring from nothing" "$log" make_src "KCONFIG_CONFIG=$new" "KCONFIG_ALLCONFIG=$TREE/config.start" allnoconfig
	fi
	if ! wrong=$(compare_config "${FRAGMENTS[@]}" "$new"); then
		printf '    %s\n' "${wrong//$'\n'/$'\n'    }" >&2
		die "$(wc -l <<<"$wrong") of the requested options did not take (listed above); see what they depend on, or take them out of ${FRAGMENTS[*]##*/}"
	fi
	if cmp -s "$new" "$SRC/.config"; then
		rm -f "$new"
	else
		mv -f "$new" "$SRC/.config"
	fi
	rm -f "$new.old"
}

# A distribution's configuration is often of another version or compiler: what it loses is told, and is no error.
report_dropped() {
	local lost
	lost=$(compare_config "$1" "$2" | grep -vE '^CONFIG_(CC_|GCC_|LD_|AS_|CLANG_|PAHOLE_|RUST)' || true)
	[[ -z $lost ]] || say "note: $(wc -l <<<"$lost") options of ${OPT_CONFIG##*/} are different in this source; the first: $(head -n 1 <<<"$lost"); all of them: diff $1 $2"
}
