#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Owns the order of the demo: verdicts on kernels first, then a fleet that acts on such verdicts by itself. It must not
# know what either half does.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
. tests/lib/step.sh

usage() {
    cat <<'END'
usage: ./dev demo [--again] [--verdicts | --short]

  --again      measure the verdicts' recordings twice and print how far the ratios differ
  --verdicts   end after the verdicts: no fleet
  --short      of the fleet's rollouts only the good kernel and the slow one, with fewer storms
END
}

verdict=() fleet=yes short=()
for arg in "$@"; do
    case "$arg" in
    --again) verdict+=(--again) ;;
    --verdicts) fleet=no ;;
    --short) short=(--short) ;;
    -h | --help) usage; exit 0 ;;
    *) known option "$arg" --again --verdicts --short --help ;;
    esac
done
[ "$fleet" = yes ] || [ ${#short[@]} -eq 0 ] || die "--short is about the fleet, which --verdicts leaves out"

started=$SECONDS
tests/demo/verdict.sh "${verdict[@]}"
[ "$fleet" = no ] || tests/demo/fleet.sh "${short[@]}"
printf '\nthe demo took %s\n' "$(elapsed $((SECONDS - started)))"
