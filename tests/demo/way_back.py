#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Owns how long a way back took: from the first recording under the new kernel or preset, and from the verdict, until the
last host was back. It must not know how a rollout is decided. Argument: a file of `kpcp status NAME --json`.
"""
import json
import sys

rollout = json.load(open(sys.argv[1], encoding="utf-8"))
roles = {m["host"]: m["role"] for m in rollout["members"]}
events = sorted(rollout["events"], key=lambda e: e["at_unix_s"])
bad = [e["at_unix_s"] for e in events
       if roles.get(e["host"]) == "canary" and e["text"].startswith("measure new") and "recording is in" in e["text"]]
verdict = [e["at_unix_s"] for e in events if e["text"].startswith("the verdict is")]
back = [e["at_unix_s"] for e in events if e["text"].startswith("revert: done")]
if not bad or not verdict or not back:
    sys.exit(f"way_back.py: {sys.argv[1]} has no recording, verdict or way back among its last {len(events)} events")
print(f"from the first measurement of what hurts to the last of {len(back)} hosts back: {back[-1] - bad[0]} s; "
      f"to the verdict {verdict[0] - bad[0]} s, from there {back[-1] - verdict[0]} s")
