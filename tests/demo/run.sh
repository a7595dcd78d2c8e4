#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Owns the order of the demo: verdicts on kernels first, then, if asked for, a fleet that acts on such verdicts by
# itself. It must not know what either half does.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
. tests/lib/step.sh

usage() {
    cat <<'END'
usage: ./dev demo [--again] [--fleet [--short]]

  --again   measure twice and print how far the ratios differ
  --fleet   then let six virtual hosts take kernels and presets in four rollouts; more than an hour on two cores, on
            which six hosts at once measure so unsteadily that the judge may well answer HOLD, where the demo ends
  --short   of the fleet's rollouts only the good kernel and the slow one, with fewer storms
END
}

verdict=() fleet=no short=()
while [ $# -gt 0 ]; do
    case "$1" in
    --again) verdict+=(--again) ;;
    --fleet) fleet=yes ;;
    --short) short=(--short) ;;
    -h | --help) usage; exit 0 ;;
    *) known option "$1" --again --fleet --short --help ;;
    esac
    shift
done
[ "$fleet" = yes ] || [ ${#short[@]} -eq 0 ] || die "--short is about the fleet: add --fleet"

started=$SECONDS
tests/demo/verdict.sh "${verdict[@]}"
[ "$fleet" = no ] || tests/demo/fleet.sh "${short[@]}"
printf '\nthe demo took %s\n' "$(elapsed $((SECONDS - started)))"
