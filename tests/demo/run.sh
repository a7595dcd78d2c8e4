#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Owns the order of the demo: verdicts on kernels first, then a fleet that acts on such verdicts by itself.
# It must not know what either half does.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
. tests/lib/step.sh

usage() {
    cat <<'END'
usage: ./dev demo [--short] [--again] [--only verdict|fleet]

  --short       the fleet takes only the good kernel and the slow one, with fewer storms
  --again       measure the verdicts twice and print how far the ratios differ
  --only HALF   verdict: kernels are measured and judged; fleet: six hosts take kernels and presets in rollouts
END
}

verdict=() fleet=() halves="verdict fleet"
while [ $# -gt 0 ]; do
    case "$1" in
    --again) verdict+=(--again) ;;
    --short) fleet+=(--short) ;;
    --only)
        halves=${2:-}
        known half "$halves" verdict fleet
        shift
        ;;
    -h | --help) usage; exit 0 ;;
    *) known option "$1" --short --again --only --help ;;
    esac
    shift
done

started=$SECONDS
[[ $halves != *verdict* ]] || tests/demo/verdict.sh "${verdict[@]}"
[[ $halves != *fleet* ]] || tests/demo/fleet.sh "${fleet[@]}"
printf '\nthe demo took %s\n' "$(elapsed $((SECONDS - started)))"
