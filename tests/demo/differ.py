#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints how far the ratios of two comparisons of the same kernels differ. Arguments: two JSON files, a name."""
import json
import math
import sys

first, again = (json.load(open(path, encoding="utf-8")) for path in sys.argv[1:3])
for a, b in zip(first["endpoints"], again["endpoints"], strict=True):
    assert a["name"] == b["name"], (a["name"], b["name"])
    if a["ratio"] is None or b["ratio"] is None:
        sys.exit(f"{a['name']}: a run gave no ratio")
    apart = 100 * (math.exp(abs(math.log(b["ratio"] / a["ratio"]))) - 1)
    print(f"{sys.argv[3]:5} {a['name']:6} ratio {a['ratio']:7.4f} and {b['ratio']:7.4f}: {apart:.2f}% apart")
