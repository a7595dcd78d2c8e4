#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Owns fetching and installing packages from a Debian suite that the machine does not follow, through an apt
# configuration of its own: the machine's sources, lists and pins are read, never written.
# It must not know what the packages are for, nor any mirror by name.

# shellcheck source-path=SCRIPTDIR

set -euo pipefail

PROG=suite.sh
VERBS=(update newest download install remove-cache)
# shellcheck source=lib-common.sh
. "$(dirname "$(realpath -- "${BASH_SOURCE[0]}")")/lib-common.sh"

usage() {
	cat <<'END'
usage: suite.sh VERB SUITE [PACKAGE...]

  update SUITE               refresh the suite's package lists
  newest SUITE PACKAGE...    print "PACKAGE VERSION" for the newest version in the suite and its security suite
  download SUITE PACKAGE...  download the newest version; print the path of each file
  install SUITE PACKAGE...   install from the suite; dependencies come from it or from the machine's own suites
  remove-cache SUITE         delete what this script keeps for the suite

SUITE is a Debian code name ("bookworm") or a code name with a pocket ("bookworm-backports").
The mirror's address and keyring are taken from the machine's own apt configuration.
Everything is kept under ${XDG_CACHE_HOME:-~/.cache}/kpcp/apt/SUITE.
END
}

# One line per index that the machine follows: label|codename|repository|signed-by
machine_targets() {
	# shellcheck disable=SC2016 # apt expands these, not the shell
	apt-get indextargets \
		--format '$(LABEL)|$(CODENAME)|$(REPO_URI)|$(SIGNED_BY)' 'Created-By: Packages' 2>/dev/null |
		sed 's/[$]([A-Z_]*)//g' | sort -u || true
}

# The machine's mirror for a label: prints "uri|signed-by".
mirror_of() {
	machine_targets | awk -F'|' -v want="$1" '$1 == want { print $3 "|" $4; exit }'
}

# source_line URI SIGNED_BY SUITE
source_line() {
	local opts
	opts=arch=$(dpkg --print-architecture)
	[[ -z $2 ]] || opts+=" signed-by=$2"
	printf 'deb [%s] %s %s main\n' "$opts" "${1%/}/" "$3"
}

# Writes the suite's own apt configuration and sets the array APT to the options that select it.
setup_suite() {
	local suite=$1 base=${1%%-*} dir main security keyring
	[[ $suite =~ ^[a-z][a-z0-9-]*$ ]] || die "'$suite' is not a suite's name; give a code name such as bookworm-backports"
	dir=$(cache_root)/apt/$suite
	mkdir -p "$dir"/{lists/partial,cache/archives/partial,parts}
	main=$(mirror_of Debian)
	[[ -n $main ]] || main=$(mirror_of 'Debian Backports')
	[[ -n $main ]] || die "this machine's apt follows no Debian archive, so there is no mirror to take $suite from; add a Debian source and run 'apt-get update'"
	security=$(mirror_of Debian-Security)
	keyring=${main#*|}
	{
		printf '# Written by kpcp; used by kpcp only.\n'
		source_line "${main%%|*}" "$keyring" "$suite"
		if [[ $suite == "$base" ]]; then
			source_line "${main%%|*}" "$keyring" "$base-updates"
			[[ -z $security ]] || source_line "${security%%|*}" "${security#*|}" "$base-security"
		fi
	} >"$dir/parts/kpcp.list.new"
	mv "$dir/parts/kpcp.list.new" "$dir/parts/kpcp.list"
	APT=(-o "Dir::Etc::SourceList=/dev/null" -o "Dir::Etc::SourceParts=$dir/parts" -o "Dir::State::Lists=$dir/lists"
		-o "Dir::Cache=$dir/cache" -o "APT::Sandbox::User=root" -o "DPkg::Lock::Timeout=600"
		-o "Acquire::Retries=3" -o "Acquire::Languages=none" -o "Dir::Etc::Preferences=/dev/null"
		-o "Dir::Etc::PreferencesParts=/dev/null" -o "APT::Get::List-Cleanup=0")
	SUITE_DIR=$dir
}

# Also lists the machine's own sources, so that an installation finds its dependencies there.
add_machine_sources() {
	local f
	for f in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
		[[ -s $f ]] || continue
		cp -f "$f" "$SUITE_DIR/parts/machine-${f##*/}"
	done
	[[ ! -e $SUITE_DIR/parts/machine-sources.list ]] || mv -f "$SUITE_DIR/parts/machine-sources.list" "$SUITE_DIR/parts/machine.list"
}

update_lists() {
	say "refreshing the package lists of $1"
	apt-get "${APT[@]}" -q -o Dpkg::Use-Pty=0 update >"$SUITE_DIR/update.log" 2>&1 ||
		die "the lists of $1 could not be fetched; see $SUITE_DIR/update.log"
	! grep -q '^[EW]: ' "$SUITE_DIR/update.log" || grep '^[EW]: ' "$SUITE_DIR/update.log" >&2
}

# newest_version SUITE PACKAGE: what the suite's own sources offer, whatever is installed here.
newest_version() {
	local v
	# madison lists the newest first.
	v=$(apt-cache "${APT[@]}" -o Dir::State::status=/dev/null madison "$2" 2>/dev/null | awk -F' *[|] *' 'NR == 1 { print $2 }')
	[[ -n $v ]] || die "$2 is not in $1; check the name with 'apt-cache search', or the suite"
	printf '%s\n' "$v"
}

download() {
	local suite=$1 pkg v out
	shift
	mkdir -p "$SUITE_DIR/files"
	for pkg in "$@"; do
		v=$(newest_version "$suite" "$pkg")
		say "downloading $pkg $v"
		out=$(cd "$SUITE_DIR/files" &&
			apt-get "${APT[@]}" -o Dir::State::status=/dev/null -q --print-uris download "$pkg=$v" |
			awk '{ print $2; exit }')
		[[ -n $out ]] || die "$pkg $v: apt names no file to download"
		(cd "$SUITE_DIR/files" && apt-get "${APT[@]}" -o Dir::State::status=/dev/null -q download "$pkg=$v" >&2) ||
			die "$pkg $v could not be downloaded from $suite; try again, or run '$PROG update $suite' first"
		[[ -s $SUITE_DIR/files/$out ]] || die "$pkg $v: apt reported success but left no $SUITE_DIR/files/$out"
		printf '%s\n' "$SUITE_DIR/files/$out"
	done
}

install_packages() {
	local suite=$1
	shift
	say "installing from $suite: $*"
	DEBIAN_FRONTEND=noninteractive apt-get "${APT[@]}" -q -y -o Dpkg::Use-Pty=0 --no-install-recommends \
		-t "$suite" install "$@" >&2 || die "$* could not be installed from $suite; apt's reasons are above"
	apt-get "${APT[@]}" clean
}

main() {
	case ${1-} in
	-h | --help) usage; exit 0 ;;
	'') usage >&2; exit 1 ;;
	*) [[ " ${VERBS[*]} " == *" $1 "* ]] || die "unknown verb '$1'; did you mean '$(nearest "$1" "${VERBS[@]}")'? See $PROG --help" ;;
	esac
	local verb=$1 suite=${2-} pkg version
	[[ -n $suite ]] || die "$verb needs a suite, for example bookworm-backports"
	shift 2
	((EUID == 0)) || [[ $verb != install ]] || die "installing packages needs root; run it with sudo"
	case $verb in
	newest | download | install) (($#)) || die "$verb needs at least one package" ;;
	esac
	setup_suite "$suite"
	exec 9>"$SUITE_DIR/lock"
	flock 9
	case $verb in
	update) update_lists "$suite" ;;
	newest)
		[[ $suite == *-* ]] || grep -q " $suite-security " "$SUITE_DIR/parts/kpcp.list" ||
			say "warning: this machine's apt follows no Debian security archive, so $suite-security is not looked in, and the newest found may lack security fixes; add that archive to apt's sources and run 'apt-get update'"
		update_lists "$suite"
		# Assigned first: printf would succeed where the version is not to be had.
		for pkg in "$@"; do
			version=$(newest_version "$suite" "$pkg")
			printf '%s %s\n' "$pkg" "$version"
		done
		;;
	download) update_lists "$suite" && download "$suite" "$@" ;;
	install)
		add_machine_sources
		update_lists "$suite"
		install_packages "$suite" "$@"
		;;
	remove-cache) rm -rf "$SUITE_DIR" ;;
	esac
}

main "$@"; exit
