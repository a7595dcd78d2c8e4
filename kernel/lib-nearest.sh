# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Owns "did you mean" for scripts: the valid word that is nearest to a mistyped one (lib/base/near.c is C's).
# Sourced by kernel/ and by tests/lib/step.sh. It must not know what the words are for.

# nearest WORD CANDIDATE...: the candidate with the smallest edit distance.
nearest() {
	local word=$1
	shift
	printf '%s\n' "$@" | awk -v w="$word" '
		function min3(a, b, c) { a = a < b ? a : b; return a < c ? a : c }
		function distance(s, t,    i, j, n, m, d, cost) {
			n = length(s); m = length(t)
			for (i = 0; i <= n; i++) d[i, 0] = i
			for (j = 0; j <= m; j++) d[0, j] = j
			for (i = 1; i <= n; i++)
				for (j = 1; j <= m; j++) {
					cost = substr(s, i, 1) != substr(t, j, 1)
					d[i, j] = min3(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + cost)
				}
			return d[n, m]
		}
		{ x = distance(w, $0); if (NR == 1 || x < best) { best = x; name = $0 } }
		END { print name }'
}
