#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
#
# kernel/build.sh and kernel/suite.sh with bad input: what is said, and that nothing was changed. A source of three
# files stands in for a kernel's, so nothing is downloaded or compiled.

setup() {
    export XDG_CACHE_HOME=$BATS_TEST_TMPDIR/cache
    BUILD=$BATS_TEST_DIRNAME/../../kernel/build.sh
    SUITE=$BATS_TEST_DIRNAME/../../kernel/suite.sh
    T=$BATS_TEST_TMPDIR
    mkdir -p "$T/linux/mm" "$T/bases" "$T/series"
    printf 'VERSION = 6\nPATCHLEVEL = 1\nSUBLEVEL = 150\nEXTRAVERSION =\n' >"$T/linux/Makefile"
    : >"$T/linux/Kbuild"
    seq 1 40 >"$T/linux/mm/page_alloc.c"
    tar -C "$T" -cJf "$T/linux.tar.xz" linux
    printf '%s\n' 'debian_package = none' 'debian_suites = none' 'version_from = 6.1.104' 'version_below = 6.2' \
        'series = ../series' 'tag = test1' 'modules_dir = /lib/modules' >"$T/bases/mini"
    echo one.patch >"$T/series/series"
    make_patch 20 twenty >"$T/series/one.patch"
    ARGS=(--base "$T/bases/mini" --source "$T/linux.tar.xz" --need-gib 0)
}

# make_patch LINE TEXT: a patch that changes one line of the mini source
make_patch() {
    sed "${1}s/.*/$2/" "$T/linux/mm/page_alloc.c" >"$T/changed"
    diff -u --label a/mm/page_alloc.c --label b/mm/page_alloc.c "$T/linux/mm/page_alloc.c" "$T/changed" || :
}

tree_file() { echo "$XDG_CACHE_HOME"/kpcp/trees/mini-*/src/mm/page_alloc.c; }

# fails_with TEXT... : the command failed with status 1, and said all of these
fails_with() {
    local text
    [ "$status" -eq 1 ] || { echo "status $status: $output"; return 1; }
    for text in "$@"; do
        [[ $output == *"$text"* ]] || { echo "no '$text' in: $output"; return 1; }
    done
}

@test "build.sh: an unknown verb names the nearest" {
    run "$BUILD" fetsh
    fails_with "unknown verb 'fetsh'" "'fetch'"
}

@test "build.sh: an unknown option names the nearest" {
    run "$BUILD" deb --flavor guest
    fails_with "unknown option '--flavor'" "'--flavour'"
    run "$BUILD" deb --pach=x
    fails_with "unknown option '--pach'" "'--patch'"
}

@test "build.sh: an option without its value, and values out of range" {
    run "$BUILD" deb --jobs
    fails_with "--jobs needs a value"
    run "$BUILD" deb --jobs 0
    fails_with "--jobs '0'" "from 1 to 9999"
    run "$BUILD" deb --name Stock
    fails_with "--name 'Stock'" "lower-case"
    run "$BUILD" deb --need-gib -1
    fails_with "--need-gib '-1'"
}

@test "build.sh: an unknown flavour and an unknown base name the nearest" {
    run "$BUILD" key --flavour gest
    fails_with "no flavour 'gest'" "'guest'"
    run "$BUILD" key --base 6.11
    fails_with "no base '6.11'" "'6.1'"
}

@test "build.sh: a word too many, and no verb" {
    run "$BUILD" deb stock
    fails_with "'stock' is one word too many"
    run "$BUILD" --no-series
    fails_with "which verb?"
}

@test "build.sh: --help names every verb and option" {
    run "$BUILD" --help
    [ "$status" -eq 0 ]
    for word in fetch apply config deb check compare-config --base --source --config --flavour --no-series --patch --jobs --name; do
        [[ $output == *"$word"* ]]
    done
}

@test "a base file with an unknown key: file, line and the nearest key" {
    sed -i '2s/.*/debian_suite = bookworm/' "$T/bases/mini"
    run "$BUILD" key "${ARGS[@]}"
    fails_with "$T/bases/mini line 2" "unknown key 'debian_suite'" "'debian_suites'"
}

@test "a base file with a key missing, twice, or no value" {
    sed '/^tag/d' "$T/bases/mini" >"$T/bases/a"
    run "$BUILD" key --base "$T/bases/a" --source "$T/linux.tar.xz"
    fails_with "the key 'tag' is missing"
    { cat "$T/bases/mini"; echo 'tag = x'; } >"$T/bases/b"
    run "$BUILD" key --base "$T/bases/b" --source "$T/linux.tar.xz"
    fails_with "line 8" "'tag' is given twice"
    echo 'tag =' >"$T/bases/c"
    run "$BUILD" key --base "$T/bases/c" --source "$T/linux.tar.xz"
    fails_with "line 1" "'tag' has no value"
}

@test "a base file with optional keys of another form" {
    { cat "$T/bases/mini"; echo 'renamed = RETPOLINE'; } >"$T/bases/a"
    run "$BUILD" key --base "$T/bases/a" --source "$T/linux.tar.xz"
    fails_with "renamed 'RETPOLINE' must be pairs OLD:NEW"
    { cat "$T/bases/mini"; echo 'gone = CONFIG-X'; } >"$T/bases/b"
    run "$BUILD" key --base "$T/bases/b" --source "$T/linux.tar.xz"
    fails_with "gone 'CONFIG-X' must be names of options"
}

@test "a base's own names of options: what is asked for has them, and another base's kernel keeps its key" {
    local before
    before=$("$BUILD" key "${ARGS[@]}")
    { cat "$T/bases/mini"; printf '%s\n' 'renamed = RETPOLINE:MITIGATION_RETPOLINE' 'gone = SCHED_DEBUG' 'added = NUMA_MIGRATION'; } >"$T/bases/other"
    "$BUILD" key --base "$T/bases/other" --source "$T/linux.tar.xz"
    cat "$XDG_CACHE_HOME"/kpcp/config/other/*.config >"$T/asked"
    grep -qx CONFIG_MITIGATION_RETPOLINE=y "$T/asked"
    grep -qx CONFIG_NUMA_MIGRATION=y "$T/asked"
    run grep -E '^(# )?CONFIG_(SCHED_DEBUG|RETPOLINE)\b' "$T/asked"
    [ "$status" -eq 1 ]
    [ "$("$BUILD" key "${ARGS[@]}")" = "$before" ]
}

@test "a series that applies: the tree has it, and only it" {
    run "$BUILD" apply "${ARGS[@]}"
    [ "$status" -eq 0 ]
    [ "$(sed -n 20p "$(tree_file)")" = twenty ]
}

@test "from one variant to the next and back: the pristine file returns, and an unchanged one keeps its time" {
    "$BUILD" apply "${ARGS[@]}"
    make_patch 30 thirty >"$T/two.patch"
    "$BUILD" apply "${ARGS[@]}" --patch "$T/two.patch"
    [ "$(sed -n 20p "$(tree_file)")$(sed -n 30p "$(tree_file)")" = twentythirty ]
    touch -d '2001-01-01' "$(tree_file)"
    "$BUILD" apply "${ARGS[@]}" --patch "$T/two.patch"
    [ "$(date -r "$(tree_file)" +%Y)" = 2001 ]
    "$BUILD" apply "${ARGS[@]}" --no-series
    cmp "$(tree_file)" "$T/linux/mm/page_alloc.c"
    [ "$(date -r "$(tree_file)" +%Y)" != 2001 ]
}

@test "a file that a patch adds goes away with the patch" {
    printf -- '--- /dev/null\n+++ b/mm/new.c\n@@ -0,0 +1 @@\n+int x;\n' >"$T/new.patch"
    "$BUILD" apply "${ARGS[@]}" --patch "$T/new.patch"
    [ "$(cat "$(dirname "$(tree_file)")/new.c")" = 'int x;' ]
    "$BUILD" apply "${ARGS[@]}"
    [ ! -e "$(dirname "$(tree_file)")/new.c" ]
}

@test "a series that does not apply: which patch, which file, what to do, and the tree as before" {
    "$BUILD" apply "${ARGS[@]}"
    cp "$(tree_file)" "$T/before"
    make_patch 30 thirty | sed 's/^-30$/-nowhere/' >"$T/bad.patch"
    run "$BUILD" apply "${ARGS[@]}" --patch "$T/bad.patch"
    fails_with "bad.patch does not apply" "mm/page_alloc.c" "refresh it" "left as it was"
    cmp "$(tree_file)" "$T/before"
    [ -z "$(find "$XDG_CACHE_HOME" -name '*.rej' -o -name '*.orig' -o -name '.scratch*')" ]
}

@test "a series that applies only with fuzz is refused, and told from one that does not apply" {
    make_patch 30 thirty | sed 's/^ 27$/ 27x/' >"$T/fuzzy.patch"
    patch --dry-run -s -p1 -d "$T/linux" -i "$T/fuzzy.patch"
    run "$BUILD" apply "${ARGS[@]}" --patch "$T/fuzzy.patch"
    fails_with "fuzzy.patch applies" "only with fuzz" "refresh it" "left as it was"
    cmp "$(tree_file)" "$T/linux/mm/page_alloc.c"
}

@test "a patch that leaves the tree is refused" {
    printf -- '--- a/x\n+++ b/../../x\n@@ -0,0 +1 @@\n+x\n' >"$T/out.patch"
    run "$BUILD" apply "${ARGS[@]}" --patch "$T/out.patch"
    fails_with "outside the tree"
}

@test "a patch of which nothing would come is refused: empty, a mode alone, names that are read in two ways" {
    printf 'one.patch\ntwo.patch\n' >"$T/series/series"
    : >"$T/series/two.patch"
    run "$BUILD" "${ARGS[@]}" apply
    fails_with "two.patch changes nothing"
    printf 'diff --git a/mm/page_alloc.c b/mm/page_alloc.c\nold mode 100644\nnew mode 100755\n' >"$T/series/two.patch"
    run "$BUILD" "${ARGS[@]}" apply
    fails_with "two.patch changes nothing"
    printf 'diff --git a/mm/e.c b/mm/e.c\nnew file mode 100644\nindex 0000000..e69de29\n' >"$T/series/two.patch"
    run "$BUILD" "${ARGS[@]}" apply
    fails_with "mm/e.c"
    printf -- '--- /dev/null\n+++ b/mm/a b.c\t\n@@ -0,0 +1 @@\n+text\n' >"$T/series/two.patch"
    run "$BUILD" "${ARGS[@]}" apply
    fails_with "mm/a b.c"
    printf 'Index: mm/i.c\n====\n@@ -0,0 +1 @@\n+text\n' >"$T/series/two.patch"
    run "$BUILD" "${ARGS[@]}" apply
    fails_with "the patches make"
    cmp "$T/linux/mm/page_alloc.c" "$(tree_file)"
}

@test "a series that names a patch that is not there" {
    echo two.patch >>"$T/series/series"
    run "$BUILD" key "${ARGS[@]}"
    fails_with "names two.patch, which is not there"
}

@test "--source: missing, no tarball, no kernel, another version" {
    run "$BUILD" apply "${ARGS[@]}" --source "$T/none.tar.xz"
    fails_with "none.tar.xz: no such file"
    echo text >"$T/text"
    run "$BUILD" apply "${ARGS[@]}" --source "$T/text"
    fails_with "not a tarball"
    mkdir "$T/other"
    : >"$T/other/x"
    tar -C "$T" -cf "$T/other.tar" other
    run "$BUILD" apply "${ARGS[@]}" --source "$T/other.tar"
    fails_with "not a kernel source"
    sed -i 's/150/90/' "$T/linux/Makefile"
    tar -C "$T" -cf "$T/old.tar" linux
    run "$BUILD" apply "${ARGS[@]}" --source "$T/old.tar"
    fails_with "the source is 6.1.90" "6.1.104"
    # Only the last was a kernel source at all, and none left a half-unpacked folder.
    [ "$(find "$XDG_CACHE_HOME/kpcp/trees" -mindepth 1 -maxdepth 1 -type d | wc -l)" -eq 1 ]
}

@test "--source: a truncated tarball leaves nothing" {
    head -c "$(($(stat -c %s "$T/linux.tar.xz") * 3 / 4))" "$T/linux.tar.xz" >"$T/short.tar.xz"
    run "$BUILD" apply "${ARGS[@]}" --source "$T/short.tar.xz"
    [ "$status" -eq 1 ]
    [[ $output == *tarball* ]]
    [ -z "$(find "$XDG_CACHE_HOME" -type d -path '*/trees/*')" ]
}

# keep SOURCE FILE...: what "check" keeps of a source, into ./cache/trees
keep() {
    run bash -c 'set -euo pipefail
        for lib in common nearest series; do . "$1/lib-$lib.sh"; done
        PROG=build.sh CACHE=$2 SOURCE_FILE=$3 SOURCE_SHA=0123456789abcdef
        keep_touched "${@:4}"' - "$(dirname "$BUILD")" "$T/cache" "$@"
}

@test "check keeps what patches touch of a source, more when they touch more, and nothing of a damaged one" {
    local kept=$T/cache/trees/check-0123456789ab
    mkdir -p "$T/cache/trees"
    keep "$T/linux.tar.xz" mm/page_alloc.c mm/added.c
    [ "$status" -eq 0 ]
    cmp "$kept/src/mm/page_alloc.c" "$T/linux/mm/page_alloc.c"
    [ ! -e "$kept/src/Kbuild" ]
    keep "$T/linux.tar.xz" Kbuild
    [ "$status" -eq 0 ]
    [ -e "$kept/src/Kbuild" ] && [ -e "$kept/src/mm/page_alloc.c" ]
    # All is there: the source is not opened.
    keep "$T/none" Kbuild mm/added.c
    [ "$status" -eq 0 ]
    rm -r "$kept"
    head -c "$(($(stat -c %s "$T/linux.tar.xz") * 3 / 4))" "$T/linux.tar.xz" >"$T/short.tar.xz"
    keep "$T/short.tar.xz" mm/page_alloc.c
    fails_with "short.tar.xz could not be unpacked" "delete it"
    keep "$T/none" mm/page_alloc.c
    fails_with "none could not be unpacked"
    # Whole as an archive, but none of a source.
    tar -C "$T" -cf "$T/other.tar" bases
    keep "$T/other.tar" mm/page_alloc.c
    fails_with "other.tar could not be unpacked" Makefile
    [ -z "$(ls -A "$T/cache/trees")" ]
}

@test "no space: how much is needed, where, and nothing begun" {
    run "$BUILD" deb "${ARGS[@]}" --need-gib 999999
    fails_with "needs 999999 GiB" "$XDG_CACHE_HOME/kpcp" "GiB free" "make room"
    [ -z "$(find "$XDG_CACHE_HOME" -type d -path '*/trees/*')" ]
}

@test "the key changes with a patch, the configuration, the source and the name, and with nothing else" {
    local key
    key=$("$BUILD" key "${ARGS[@]}")
    [ "$("$BUILD" key "${ARGS[@]}" --jobs 7)" = "$key" ]
    make_patch 20 zwanzig >"$T/series/one.patch"
    [ "$("$BUILD" key "${ARGS[@]}")" != "$key" ]
    make_patch 20 twenty >"$T/series/one.patch"
    [ "$("$BUILD" key "${ARGS[@]}")" = "$key" ]
    [ "$("$BUILD" key "${ARGS[@]}" --name other)" != "$key" ]
    [ "$("$BUILD" key "${ARGS[@]}" --no-series)" != "$key" ]
    echo 'CONFIG_X=y' >"$T/some.config"
    [ "$("$BUILD" key "${ARGS[@]}" --config "$T/some.config")" != "$key" ]
    echo more >>"$T/linux/mm/page_alloc.c"
    tar -C "$T" -cf "$T/second.tar" linux
    [ "$("$BUILD" key "${ARGS[@]}" --source "$T/second.tar")" != "$key" ]
}

@test "the variant's name: stock, the base's tag, or the beginning of the extra patch's name" {
    [[ $("$BUILD" key "${ARGS[@]}") == mini-guest-test1-* ]]
    [[ $("$BUILD" key "${ARGS[@]}" --no-series) == mini-guest-stock-* ]]
    make_patch 30 thirty >"$T/slow-6.1.patch"
    [[ $("$BUILD" key "${ARGS[@]}" --patch "$T/slow-6.1.patch") == mini-guest-slow-* ]]
}

@test "compare-config: each option that did not take is named, with what was wanted and got" {
    printf 'CONFIG_A=y\nCONFIG_B=m\n# a reason\n# CONFIG_C is not set\nCONFIG_D="x"\nCONFIG_E=""\nCONFIG_F=y\n' >"$T/request"
    printf 'CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C=y\nCONFIG_D="x"\n' >"$T/result"
    run "$BUILD" compare-config "$T/request" "$T/result"
    fails_with "CONFIG_B: wanted m, got n" "CONFIG_C: wanted n, got y" "CONFIG_F: wanted y, got n (not in the result)"
    [ "${#lines[@]}" -eq 3 ]
    printf 'CONFIG_A=y\nCONFIG_B=m\nCONFIG_D="x"\nCONFIG_F=y\n' >"$T/result"
    run "$BUILD" compare-config "$T/request" "$T/result"
    [ "$status" -eq 0 ]
    [ -z "$output" ]
}

@test "compare-config: empty files, names with =, CR LF, a folder" {
    cd "$T" || return
    : >empty
    printf 'CONFIG_A=y\n# CONFIG_B is not set\n' >a=1
    printf 'CONFIG_A=y\r\n# CONFIG_B is not set\r\n' >crlf
    printf 'CONFIG_A=y\nCONFIG_B=y\n' >both
    "$BUILD" compare-config empty both
    "$BUILD" compare-config a=1 a=1
    "$BUILD" compare-config empty a=1 "$T/crlf"
    run "$BUILD" compare-config a=1 empty
    fails_with "CONFIG_A: wanted y, got n"
    run "$BUILD" compare-config crlf both
    fails_with "CONFIG_B: wanted n, got y"
    [[ $output != *CONFIG_A* ]]
    run "$BUILD" compare-config both .
    fails_with ".: no such file, or not a readable one"
    run "$BUILD" "${ARGS[@]}" --config . key
    fails_with "--config .: not a readable file"
}

@test "a source with a colon in its name, and a cache by a relative path" {
    cd "$T" || return
    cp linux.tar.xz a:b.tar.xz
    out=$(XDG_CACHE_HOME=relative "$BUILD" --base "$T/bases/mini" --source a:b.tar.xz --need-gib 0 apply)
    [[ $out == "$PWD/relative/kpcp/trees/"* ]]
}

@test "compare-config: a later request wins, and a line that is no option is an error" {
    printf 'CONFIG_A=y\n' >"$T/first"
    printf 'CONFIG_A=m\n' >"$T/second"
    printf 'CONFIG_A=m\n' >"$T/result"
    run "$BUILD" compare-config "$T/first" "$T/second" "$T/result"
    [ "$status" -eq 0 ]
    printf 'CONFIGA=y\n' >"$T/typo"
    run "$BUILD" compare-config "$T/typo" "$T/result"
    fails_with "$T/typo line 1" "CONFIGA=y"
}

@test "every patch of every series says what it is: DEP-3 headers, SPDX, and git can read it" {
    local p
    for p in "$BATS_TEST_DIRNAME"/../../kernel/patches/*/*.patch "$BATS_TEST_DIRNAME"/../data/slow-*.patch; do
        for field in From Date Subject Origin Forwarded Last-Update; do
            grep -qm 1 "^$field: ." "$p" || { echo "$p: no $field"; return 1; }
        done
        grep -qx 'SPDX-License-Identifier: GPL-2.0-only' "$p"
        git mailinfo "$T/msg" "$T/diff" <"$p" | grep -q '^Subject: .'
        [ -s "$T/diff" ]
    done
}

@test "every patch in a series' folder is in its series" {
    local dir p
    for dir in "$BATS_TEST_DIRNAME"/../../kernel/patches/*/; do
        for p in "$dir"*.patch; do
            grep -qxF "${p##*/}" "$dir/series" || { echo "$p is not in $dir/series"; return 1; }
        done
    done
}

@test "the fragments have no option twice" {
    local twice
    twice=$(sed -nE 's/^(# )?(CONFIG_[A-Z0-9_]+)[= ].*/\2/p' "$BATS_TEST_DIRNAME"/../../kernel/config/guest.config | sort | uniq -d)
    [ -z "$twice" ] || { echo "$twice"; return 1; }
}

@test "suite.sh: an unknown verb, no suite, no package, a wrong name" {
    run "$SUITE" instal bookworm x
    fails_with "unknown verb 'instal'" "'install'"
    run "$SUITE" newest
    fails_with "newest needs a suite"
    run "$SUITE" newest bookworm
    fails_with "newest needs at least one package"
    run "$SUITE" newest '../x' y
    fails_with "'../x' is not a suite's name"
}

# An apt that follows the archives named, each as LABEL|CODENAME|URI|KEYRING, and fetches nothing.
fake_apt() {
    mkdir -p "$T/bin"
    printf '%s\n' "$@" >"$T/targets"
    printf '%s\n' '#!/bin/sh' "[ \"\$1\" != indextargets ] || cat '$T/targets'" >"$T/bin/apt-get"
    printf '%s\n' '#!/bin/sh' "echo 'pkg | 1.0-1 | main'" >"$T/bin/apt-cache"
    chmod +x "$T/bin/apt-get" "$T/bin/apt-cache"
    PATH=$T/bin:$PATH
}

@test "suite.sh: a machine without the security archive is told that the newest may not be" {
    fake_apt 'Debian|trixie|http://mirror.invalid/debian|'
    run "$SUITE" newest bookworm pkg
    [ "$status" -eq 0 ]
    [[ $output == *"bookworm-security is not looked in"*"pkg 1.0-1"* ]]
    fake_apt 'Debian|trixie|http://mirror.invalid/debian|' 'Debian-Security|trixie-security|http://mirror.invalid/security|'
    run "$SUITE" newest bookworm pkg
    [ "$status" -eq 0 ]
    [[ $output != *warning* && $output == *"pkg 1.0-1"* ]]
}
