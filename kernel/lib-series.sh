# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Owns which patches a variant has and bringing the shared tree to that variant, touching only files that differ.
# It must not know how anything is compiled.

# list_patches: sets the array PATCHES, the series first and then each --patch.
list_patches() {
	local line p
	PATCHES=()
	if ((OPT_SERIES)); then
		[[ -f $SERIES_DIR/series ]] || die "$SERIES_DIR/series does not exist; see 'series' in $BASE_FILE"
		while IFS= read -r line || [[ -n $line ]]; do
			line=${line%%#*}
			line=${line//[[:space:]]/}
			[[ -n $line ]] || continue
			[[ -f $SERIES_DIR/$line ]] || die "$SERIES_DIR/series names $line, which is not there"
			PATCHES+=("$SERIES_DIR/$line")
		done <"$SERIES_DIR/series"
	fi
	for p in "${OPT_PATCHES[@]}"; do
		[[ -f $p && -r $p ]] || die "--patch $p: no such file"
		PATCHES+=("$(realpath -- "$p")")
	done
}

# The files that a patch touches, without their first component; refuses what patch(1) would do elsewhere or differently.
touched_by() {
	local f bad
	bad=$(grep -nE '^(rename|copy) (from|to) |^GIT binary patch' "$1" | head -n 1 || true)
	[[ -z $bad ]] || die "${1##*/} line ${bad%%:*}: renames, copies and binary changes are not supported; write it as removal and addition"
	awk '/^--- / { old = $2; sub(/\t.*/, "", old); getline
		if ($0 !~ /^\+\+\+ /) next
		new = $2; sub(/\t.*/, "", new)
		print old == "/dev/null" ? "" : old; print new == "/dev/null" ? "" : new }' "$1" |
		sed -n 's|^[^/]*/||p' | sort -u |
		while IFS= read -r f; do
			[[ $f != /* && "/$f/" != */../* ]] || die "${1##*/} touches $f, which is outside the tree"
			printf '%s\n' "$f"
		done
}

# keep_pristine FILE: the source's own version is kept before the first change.
keep_pristine() {
	grep -qxF -- "$1" "$TREE/touched" 2>/dev/null && return 0
	if [[ -e $SRC/$1 ]]; then
		mkdir -p "$TREE/pristine/$(dirname "$1")"
		cp -p -- "$SRC/$1" "$TREE/pristine/$1"
	fi
	printf '%s\n' "$1" >>"$TREE/touched"
}

# explain_reject PATCH TREE-COPY PATCH-OUTPUT
explain_reject() {
	local fuzz files where
	files=$(sed -n "s/^checking file //p; s/^patching file //p" "$3" | tail -n 1)
	where=$(grep -m 1 -E 'FAILED|malformed|can.t find' "$3" || true)
	sed 's/^/    /' "$3" >&2
	fuzz=$(patch -p1 -F3 -f -N --dry-run -d "$2" -i "$1" 2>/dev/null |
		grep -oE 'with fuzz [0-9]+' | sort -u | tail -n 1 || true)
	if [[ -n $fuzz ]] && patch -p1 -F3 -f -N --dry-run -s -d "$2" -i "$1" >/dev/null 2>&1; then
		die "${1##*/} applies to ${files:-the source} only $fuzz, that is, to other lines than it was written for ($where); refresh it against ${SOURCE_FILE##*/} and look at what changed there; the tree was left as it was"
	fi
	die "${1##*/} does not apply to ${files:-the source} ($where); refresh it against ${SOURCE_FILE##*/}, or choose the base that it is for; the tree was left as it was"
}

# pristine_copy FILE DIRECTORY: the source's own version of a file, if it has one.
pristine_copy() {
	mkdir -p "$2/$(dirname "$1")"
	if [[ -e $TREE/pristine/$1 ]]; then
		cp -p -- "$TREE/pristine/$1" "$2/$1"
	elif [[ -e $SRC/$1 ]] && ! grep -qxF -- "$1" "$TREE/touched" 2>/dev/null; then
		cp -p -- "$SRC/$1" "$2/$1"
	fi
}

pristine_of_patches() {
	local p f
	for p in "${PATCHES[@]}"; do touched_by "$p"; done | sort -u |
		while IFS= read -r f; do pristine_copy "$f" "$1"; done
}

# prepare_variant SCRATCH: copies what the patches and the tree's present variant touch, pristine, and applies the
# patches to the copies, with no fuzz. Leaves the names in SCRATCH.files.
prepare_variant() {
	local scratch=$1 p f log=$1.log stray
	: >"$scratch.files"
	for p in "${PATCHES[@]}"; do
		touched_by "$p" >>"$scratch.files"
		[[ -s $scratch.files ]] || die "$p changes no file; is it a patch?"
	done
	[[ ! -f $TREE/touched ]] || cat "$TREE/touched" >>"$scratch.files"
	sort -u -o "$scratch.files" "$scratch.files"
	while IFS= read -r f; do pristine_copy "$f" "$scratch"; done <"$scratch.files"
	for p in "${PATCHES[@]}"; do
		cp -a "$scratch" "$scratch.before"
		patch -p1 -F0 -f -N --no-backup-if-mismatch -r - -d "$scratch" -i "$p" >"$log" 2>&1 ||
			explain_reject "$p" "$scratch.before" "$log"
		! grep -q 'with fuzz' "$log" || explain_reject "$p" "$scratch.before" "$log"
		! diff -rq -- "$scratch.before" "$scratch" >/dev/null || die "$p changes nothing; is it whole?"
		! grep -q 'offset' "$log" || say "${p##*/} applies at an offset: $(grep -m 1 -o 'Hunk.*' "$log")"
		rm -rf "$scratch.before"
	done
	# What patch(1) made of names that touched_by reads otherwise would be lost.
	stray=$(find "$scratch" -type f -printf '%P\n' | grep -vxFf "$scratch.files" | head -n 1 || true)
	[[ -z $stray ]] || die "the patches make $stray, which no '--- a/FILE' and '+++ b/FILE' of them names; write them as diff -u and git do, for files that are not empty and have no blank in their name"
}

# apply_variant: the tree becomes source + PATCHES. Files that are the same keep their time, so make leaves them alone.
apply_variant() {
	local scratch f changed=0
	need_tools patch:patch
	rm -rf "$TREE"/.scratch*
	scratch=$TREE/.scratch
	mkdir "$scratch"
	prepare_variant "$scratch"
	while IFS= read -r f; do
		if [[ -e $scratch/$f ]]; then
			cmp -s -- "$scratch/$f" "$SRC/$f" && continue
			keep_pristine "$f"
			mkdir -p "$SRC/$(dirname "$f")"
			touch -- "$scratch/$f"
			mv -f -- "$scratch/$f" "$SRC/$f"
		else
			[[ -e $SRC/$f ]] || continue
			keep_pristine "$f"
			rm -f -- "$SRC/$f"
		fi
		changed=$((changed + 1))
	done <"$scratch.files"
	rm -rf "$TREE"/.scratch*
	say "${#PATCHES[@]} patches, zero fuzz; $changed files of the tree changed"
}

# git_am_check: the same series through git am, on the pristine copies alone.
git_am_check() {
	local repo=$TREE/.scratch-git p
	need_tools git:git
	rm -rf "$TREE"/.scratch*
	pristine_of_patches "$repo"
	(
		cd "$repo" || exit 1
		export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null GIT_COMMITTER_NAME=kpcp GIT_COMMITTER_EMAIL=kpcp@kpcp.invalid
		git init -q .
		git add -A
		git -c user.name=kpcp -c user.email=kpcp@kpcp.invalid commit -q -m pristine
		for p in "${PATCHES[@]}"; do
			git am -q "$p" >../.scratch.log 2>&1 || {
				sed 's/^/    /' ../.scratch.log >&2
				die "git am refuses ${p##*/}; see its headers (From, Date, Subject), and refresh it"
			}
		done
	)
	rm -rf "$TREE"/.scratch*
}

# keep_touched NAME...: pristine copies of these files of the source in KEPT/src, as finding them takes a tarball's whole
# length. Files that the source lacks, as patches add them, are in KEPT/names only.
keep_touched() {
	local top new bad status=0
	KEPT=$CACHE/trees/check-${SOURCE_SHA:0:12}
	if [[ -f $KEPT/names ]] && printf '%s\n' "$@" | awk 'NR == FNR { kept[$0] = 1; next } !($0 in kept) { exit 1 }' "$KEPT/names" -; then
		return 0
	fi
	new=$(mktemp -d "$CACHE/trees/.check.XXXXXX")
	mkdir "$new/src"
	{
		printf '%s\n' Makefile "$@"
		[[ ! -f $KEPT/names ]] || cat "$KEPT/names"
	} | sort -u >"$new/names"
	# head ends tar early, which is no failure of tar's; what tar says of a damaged archive, the second run says too.
	top=$(tar -tf "$SOURCE_FILE" 2>/dev/null | head -n 1) || :
	sed "s|^|${top%%/*}/|" "$new/names" >"$new/members"
	LC_ALL=C tar -xf "$SOURCE_FILE" -C "$new/src" --strip-components=1 -T "$new/members" 2>"$new/log" || status=$?
	# 2 is also what files get that the source lacks; everything else in the log is trouble, and so is no Makefile.
	bad=$(awk '!/Not found in archive|Exiting with failure status/ { print; exit }' "$new/log")
	[[ $status -eq 0 || $status -eq 2 ]] || bad=${bad:-tar ended with status $status}
	[[ -n $bad || -f $new/src/Makefile ]] || bad="it has no Makefile of its own"
	if [[ -n $bad ]]; then
		rm -rf "$new"
		die "$SOURCE_FILE could not be unpacked ($bad); delete it, and it is fetched again"
	fi
	rm -rf "$KEPT"
	mv -T "$new" "$KEPT"
}

# unpack_touched: a tree of its own with only the files that the patches touch, for a check without a build.
unpack_touched() {
	local p names=()
	mapfile -t names < <(for p in "${PATCHES[@]}"; do touched_by "$p"; done | sort -u)
	mkdir -p "$CACHE/trees"
	keep_touched "${names[@]}"
	TREE=$(mktemp -d "$CACHE/trees/.check.XXXXXX") SRC=$TREE/src
	# shellcheck disable=SC2064 # the directory as it is now
	trap "rm -rf '$TREE'" EXIT
	cp -a "$KEPT/src" "$SRC"
	read_kernel_version
}
