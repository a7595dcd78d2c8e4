#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The lint suite: what can be said of the sources without running them.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
. tests/lib/tap.sh
. tests/lib/step.sh

export LC_ALL=C
files() { git ls-files --cached --others --exclude-standard -- "$@" | while read -r f; do [ ! -f "$f" ] || echo "$f"; done; }
c_files() { files '*.c' '*.h'; }
shell_files() { files dev .ci/run '*.sh' '*.bats' tests/vm | while read -r f; do
    if head -n 1 "$f" | grep -qE '^#!.*(bash|bats|/sh)$' || grep -q '^# shellcheck shell=' "$f"; then echo "$f"; fi
done | sort -u; }

spdx() { tests/lint/spdx.sh; }
layers() { tests/lint/layers.sh; }
commit_words() { tests/lint/words.sh; }
format() { c_files | xargs clang-format --dry-run -Werror; }
# SC2317: functions that tap calls by name.
shell() { shell_files | xargs shellcheck -x -e SC2317; }
sizes() {
    local long
    long=$(c_files | xargs wc -l | awk '$2 != "total" && $1 > 620 { print $2 ": " $1 " lines; split it" }')
    [ -z "$long" ] || { echo "$long"; return 1; }
}
# Every warning is an error, in both compilers, in a build folder of its own.
compiler() {
    local dir=${KPCP_BUILD:-build}/lint-$1
    [ -f "$dir/build.ninja" ] || CC=$1 meson setup "$dir" . -Dwerror=true >/dev/null
    ninja -C "$dir"
}

tap "every file has an SPDX line of its kind" spdx
tap "includes follow the layers" layers
tap "no forbidden call, path or mark" commit_words
tap "clang-format changes nothing" format
tap "shellcheck finds nothing" shell
tap "no C file is longer than 620 lines" sizes
tap "gcc builds without a warning" compiler gcc
tap "clang builds without a warning" compiler clang
tap_end
