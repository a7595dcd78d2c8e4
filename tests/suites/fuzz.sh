#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# The fuzz suite: each decoder under libFuzzer for a short while, from its corpus, with a fixed seed. (That the corpus
# itself passes is part of the unit suite.) KPCP_FUZZ_SECONDS sets another length.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
. tests/lib/tap.sh

seconds=${KPCP_FUZZ_SECONDS:-10}
dir=${KPCP_BUILD:-$PWD/build}/fuzz
[ -f "$dir/build.ninja" ] || CC=clang meson setup "$dir" . -Dfuzz=true >/dev/null
ninja -C "$dir" >"$dir/compile.log" || { tail -n 40 "$dir/compile.log"; exit 1; }

fuzz() {
    local name=$1 found=$dir/found-$1
    mkdir -p "$found" "$dir/artifacts"
    "$dir/tests/fuzz/fuzz_$name" -seed=1 -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
        -artifact_prefix="$dir/artifacts/$name-" "$found" "tests/fuzz/corpus/$name" >"$dir/$name.log" 2>&1 || {
        tail -n 40 "$dir/$name.log"
        return 1
    }
    echo "## fuzz $name: seed 1, $(sed -n 's/^stat::number_of_executed_units: *//p' "$dir/$name.log") executions"
}

for corpus in tests/fuzz/corpus/*/; do
    name=$(basename "$corpus")
    tap "fuzz $name for $seconds s finds nothing" fuzz "$name"
done
tap_end
