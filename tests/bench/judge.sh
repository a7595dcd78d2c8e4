#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The judge on simulated fleets: its promised shares, every shape of errors, and the usual judges on the same fleets.
# Must not assert: a benchmark reports. CAMPAIGNS=2000 makes it ten times as quick, and three times as coarse.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")"

build=${KPCP_BUILD:?run ./dev bench}
canary=$build/agent/kpcp-canary
campaigns=${CAMPAIGNS:-20000}
out=$build/bench
mkdir -p "$out"

# share NAME OPTION... : the share of a condition in simulated campaigns, Welch's bounds alone
share() {
    "$canary" simulate --json --no-second-opinion --campaigns "$campaigns" "${@:2}" |
        python3 -c 'import json, sys; print("%.4f" % json.load(sys.stdin)[sys.argv[1]])' "$1"
}

# canaries controls boots boot-sd host-sd, then what was promised: promoted at 1.00 and 1.10, taken back at 1.00 and 1.20
table() {
    cat <<'END'
4 8 1 7% 2% .38 .051 .011 .47
4 8 4 7% 2% .81 .048 .010 .93
6 6 4 7% 2% .88 .047 .009 .996
8 8 4 7% 2% .96 .048 .009 1.00
8 8 4 15% 3% .49 .050 .009 .73
24 24 4 15% 3% .90 .050 .010 1.00
END
}

echo "Promised and simulated ($campaigns campaigns each, Welch's bounds alone, margin 10%)"
printf '%-9s %-5s   %-15s %-15s %-15s %-15s\n' K/M/boots boots "promoted 1.00" "promoted 1.10" "taken back 1.00" "taken back 1.20"
while read -r k m b boot host p100 p110 r100 r120; do
    fleet=(--hosts "$k" --controls "$m" --boots "$b" --boot-sd "$boot" --host-sd "$host")
    printf '%-9s %-5s   %5s %-9s %5s %-9s %5s %-9s %5s %-9s\n' "$k/$m/$b" "$boot" \
        "$p100" "$(share promote "${fleet[@]}")" "$p110" "$(share promote "${fleet[@]}" --ratio 1.1)" \
        "$r100" "$(share rollback "${fleet[@]}")" "$r120" "$(share rollback "${fleet[@]}" --ratio 1.2)"
done < <(table)

echo
echo "Other shapes of errors: promoted at the margin (at most .053), taken back at 1.00 (at most .01)"
printf '%-9s %-5s  %-17s %-17s %-17s %-17s\n' K/M/boots boots normal t3 lognormal ar1
while read -r k m b boot host _; do
    fleet=(--hosts "$k" --controls "$m" --boots "$b" --boot-sd "$boot" --host-sd "$host")
    printf '%-9s %-5s' "$k/$m/$b" "$boot"
    for shape in normal t3 lognormal ar1; do
        printf '  %s / %s' "$(share promote "${fleet[@]}" --errors $shape --ratio 1.1)" \
            "$(share rollback "${fleet[@]}" --errors $shape)"
    done
    echo
done < <(table)

echo
echo "The same fleets before the usual judges"
"$build/tests/bench/bench_judge" $((campaigns / 20)) "$out/judge-curves.tsv"
"$build/tests/bench/bench_judge_time" $((campaigns / 20))
echo
./judge_picture.py "$out/judge-curves.tsv" "$out/judge.svg"
echo "picture: $out/judge.svg"
