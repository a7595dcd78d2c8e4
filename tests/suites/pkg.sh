#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The pkg suite: the packages that debian/ makes, built from a clean copy of the tracked files, and looked into.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
. tests/lib/tap.sh

top=$PWD
dir=${KPCP_BUILD:-$PWD/build}/pkg
rm -rf "$dir"
mkdir -p "$dir/src"

# Each package and the files that it has, beside its changelog and copyright; units are in /lib or in /usr/lib.
declare -A want=(
    [kpcp-canary]='usr/bin/kpcp-canary
        usr/share/man/man1/kpcp-canary.1.gz'
    [kpcp-agent]='etc/default/kexec.d/kpcp-agent
        lib/systemd/system/kpcp-agent.service
        lib/systemd/system/kexec-load.service.d/kpcp-agent.conf
        lib/systemd/system/kexec.service.d/kpcp-agent.conf
        lib/sysusers.d/kpcp-agent.conf
        usr/sbin/kpcp-agent
        usr/share/doc/kpcp-agent/README.Debian
        usr/share/doc/kpcp-agent/examples/agent.conf
        usr/share/man/man5/kpcp-agent.conf.5.gz
        usr/share/man/man8/kpcp-agent.8.gz'
    [kpcp-rollout]='lib/systemd/system/kpcp-rolloutd.service
        lib/sysusers.d/kpcp-rollout.conf
        usr/bin/kpcp-rolloutd
        usr/share/doc/kpcp-rollout/README.Debian
        usr/share/man/man5/kpcp-rolloutd.conf.5.gz
        usr/share/man/man8/kpcp-rolloutd.8.gz'
    [kpcp-cli]='usr/bin/kpcp
        usr/share/doc/kpcp-cli/examples/example.plan
        usr/share/man/man1/kpcp.1.gz
        usr/share/man/man5/kpcp-plan.5.gz'
    [kpcp-sysctl]='usr/share/kpcp/sysctl.d/default.conf
        usr/share/kpcp/sysctl.d/latency.conf'
)

copy_sources() { git ls-files --cached --others --exclude-standard -z | tar -C "$top" --null -T - -c --ignore-failed-read | tar -C "$dir/src" -x; }
build_packages() { cd "$dir/src" && dpkg-buildpackage -us -uc -b; }
deb() { echo "$dir/$1"_*.deb; }
unpack_all() {
    local p
    for p in "${!want[@]}"; do dpkg-deb -x "$(deb "$p")" "$dir/root"; done
}
nothing_else() {
    local built
    built=$(cd "$dir" && for f in *.deb; do [[ $f == *-dbgsym_* ]] || echo "${f%%_*}"; done | sort)
    [ "$built" = "$(printf '%s\n' "${!want[@]}" | sort)" ] || { echo "packages: $built"; return 1; }
}
contents() {
    local p
    for p in "${!want[@]}"; do
        echo "$p"
        diff <(tr -s ' \n' '\n' <<<"${want[$p]}" | sed '/^$/d; s,^usr/lib/,lib/,' | sort) \
            <(dpkg-deb -c "$(deb "$p")" | awk '$6 !~ /\/$/ { print $6 }' |
                sed -e 's,^\./,,' -e '/\/changelog\.gz$/d' -e '/\/copyright$/d' -e 's,^usr/lib/,lib/,' | sort)
    done
}
runs() {
    local program version
    version=$(dpkg-deb -f "$(deb kpcp-canary)" Version)
    for program in usr/bin/kpcp-canary usr/sbin/kpcp-agent usr/bin/kpcp usr/bin/kpcp-rolloutd; do
        "$dir/root/$program" --version | tee /dev/stderr | grep -qx "${program##*/} $version"
    done
}
# Without these a plain reboot, which is the way back, could become a jump.
kexec_tools() {
    local d
    d=$(find "$dir/root" -path '*/kexec*.service.d/kpcp-agent.conf')
    [ "$(wc -l <<<"$d")" -eq 2 ]
    # shellcheck disable=SC2086 # one file a word
    [ "$(cat $d | grep -cx 'ConditionPathExists=!/usr/sbin/kpcp-agent')" -eq 2 ]
    # shellcheck disable=SC2086
    [ "$(cat $d | grep -cx 'ExecStop=')" -eq 2 ]
    dpkg-deb -f "$(deb kpcp-agent)" Depends | grep -qF 'kexec-tools (>= 1:2.0.25-3+deb12u3)'
    [ "$(LOAD_KEXEC=true sh -c '. "$1"; echo "$LOAD_KEXEC"' - "$dir/root/etc/default/kexec.d/kpcp-agent")" = false ]
}
# A preset that lay where sysctl.d(5) looks would be active without a rollout.
presets_sleep() {
    local found
    found=$(find "$dir/root" -path "*/sysctl.d/*.conf" | sort)
    [ "$found" = "$dir/root/usr/share/kpcp/sysctl.d/default.conf"$'\n'"$dir/root/usr/share/kpcp/sysctl.d/latency.conf" ]
}
# Words that systemd does not know are ignored by it, a sandbox among them; so they are looked for here.
units() {
    local u=$dir/units said
    mkdir -p "$u"
    find "$dir/root" -name 'kpcp-*.service' -exec cp -t "$u" {} +
    # The programs and their pages are not installed here.
    sed -i "s,^ExecStart=/[^ ]*,ExecStart=/bin/true," "$u"/*.service
    said=$(systemd-analyze verify --man=no "$u"/*.service 2>&1) || { echo "$said"; return 1; }
    [ -z "$said" ] || { echo "$said"; return 1; }
}
lint_packages() {
    local p files=()
    for p in "${!want[@]}"; do files+=("$(deb "$p")"); done
    lintian --allow-root --fail-on error "${files[@]}"
}

tap "a copy of the sources" copy_sources
tap "dpkg-buildpackage, its tests included" build_packages
tap "the packages are those and no others" nothing_else
tap "each has its files and documentation, nothing else" contents
tap "the packages unpack" unpack_all
tap "the packaged programs run and say the package's version" runs
tap "kexec-tools' own services are kept out" kexec_tools
tap "presets are not active by themselves" presets_sleep
tap "systemd understands every line of the units" units
tap "lintian reports no error" lint_packages
tap_end
