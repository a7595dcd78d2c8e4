# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Owns what every script in kernel/ needs: messages, the cache's place, free space, logged runs.
# It must not know what is fetched or built.

START_SECONDS=$SECONDS

# shellcheck source-path=SCRIPTDIR source=lib-nearest.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib-nearest.sh"

elapsed() {
	local s=$((SECONDS - START_SECONDS))
	printf '%d:%02d' $((s / 60)) $((s % 60))
}

say() { printf '%s: [%s] %s\n' "$PROG" "$(elapsed)" "$*" >&2; }
die() {
	printf '%s: error: %s\n' "$PROG" "$*" >&2
	exit 1
}

# Absolute, as steps run in other folders.
cache_root() { realpath -m -- "${XDG_CACHE_HOME:-$HOME/.cache}/kpcp"; }

# short_hash FILE-or-"-" LENGTH
short_hash() { sha256sum "$1" | cut -c"1-$2"; }

# Tells what is missing by the Debian package that has it.
need_tools() {
	local pair missing=()
	for pair in "$@"; do
		command -v "${pair%%:*}" >/dev/null || missing+=("${pair#*:}")
	done
	((${#missing[@]} == 0)) || die "these packages are missing: ${missing[*]}; install them, on Debian with 'apt-get install ${missing[*]}'"
}

# The same for headers, as HEADER:PACKAGE.
need_headers() {
	local pair missing=()
	for pair in "$@"; do
		printf '#include <%s>\n' "${pair%%:*}" | gcc -E - >/dev/null 2>&1 || missing+=("${pair#*:}")
	done
	((${#missing[@]} == 0)) || die "these packages are missing: ${missing[*]}; install them, on Debian with 'apt-get install ${missing[*]}'"
}

# need_space DIRECTORY GIB WHAT
need_space() {
	local free
	free=$(df -Pk "$1" | awk 'NR == 2 { print $4 }')
	((free >= $2 * 1024 * 1024)) ||
		die "$3 needs $2 GiB, and $1 has $((free / 1024 / 1024)) GiB free; make room there, or put the cache elsewhere with XDG_CACHE_HOME"
}

# run_logged LABEL LOG COMMAND...: output goes to LOG; shows that it goes on; on failure names the log and shows its end.
run_logged() {
	local label=$1 log=$2 pid began=$SECONDS last=$SECONDS rc=0
	shift 2
	say "$label (log: $log)"
	"$@" >"$log" 2>&1 8>&- </dev/null &
	pid=$!
	# shellcheck disable=SC2064 # the pid as it is now
	trap "kill $pid 2>/dev/null; exit 143" TERM HUP
	# shellcheck disable=SC2064
	trap "kill $pid 2>/dev/null; exit 130" INT
	while kill -0 "$pid" 2>/dev/null; do
		sleep 0.2
		((SECONDS - last >= 30)) || continue
		last=$SECONDS
		say "$label: $((SECONDS - began)) s, $(grep -c '^  [A-Z]' "$log" || true) steps; now $(tail -n 1 "$log" | tr -s ' ')"
	done
	wait "$pid" || rc=$?
	trap - TERM HUP INT
	((rc == 0)) && return 0
	grep -nE '(error|Error|\*\*\*)' "$log" | tail -n 8 >&2 || true
	die "$label failed with exit status $rc after $((SECONDS - began)) s; the log is $log"
}
