#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# Owns the answers of the invented controller about one invented fleet (rollout/api.h has their form). It knows
# nothing of the server that gives them.
"""answers.py FOLDER COMPARISON.json : fills FOLDER for controller.py"""
import json
import pathlib
import sys

folder, comparison = pathlib.Path(sys.argv[1]), json.load(open(sys.argv[2], encoding="utf-8"))
OLD, NEW = "6.1.158-stock", "6.1.158-kpcp"
START = 1764500000  # 2025-11-30 10:53:20 UTC


def put(name, value):
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(json.dumps(value), encoding="utf-8")


def rollout(state, wave=0, reason="", **more):
    return {"name": "r1", "state": state, "reason": reason, "waiting": "", "factor": "kernel", "wave": wave, "waves": 2,
            "what": f"linux-image-{NEW} 6.1.158-1 ({NEW})", "paused": False, "approved_unix_s": START - 60,
            "started_unix_s": START, "ended_unix_s": None, "verdict": None} | more


def member(i, role, progress, after=OLD, default_after="debian-old", **more):
    return {"host": f"{role}-{i}", "cluster": "big", "role": role, "wave": 0 if role == "canary" else 1,
            "progress": progress, "release_before": OLD, "release_after": after,
            "boot_ids": [f"{i}{n}345678-0000-4000-8000-000000000000" for n in range(2)],
            "default_before": "debian-old", "default_after": default_after, "started_unix_s": START + i,
            "ended_unix_s": None} | more


def event(s, host, text):
    return {"at_unix_s": START + s, "rollout": "r1", "host": host, "text": text}


def order(epoch, verb, outcome, reason="", **more):
    return {"epoch": epoch, "rollout": "r1", "verb": verb, "arm": "", "boot": None, "target": "", "outcome": outcome,
            "reason": reason, "granted_unix_s": START + 10 * epoch, "ended_unix_s": START + 10 * epoch + 7} | more


def host(name, **more):
    return {"name": name, "cluster": "big", "state": "MEASURE", "outcome": "running", "reason": "recording 30 storms",
            "release": NEW, "build_id": "0123456789abcdef0123456789abcdef01234567", "boot_id":
            "11345678-0000-4000-8000-000000000000", "default_entry": "debian-old", "model": "Standard PC",
            "kexec_booted": True, "pcp_batch_scale_max": 5, "seen_age_s": 3, "agent": "0.1.0", "rollout": "r1",
            "enrolled_unix_s": START - 600, "retired": False} | more


def detail(state, progress, compared=False, done=False, **more):
    entry = f"gnulinux-advanced-1234>gnulinux-{NEW}-advanced-1234"
    after = {"after": NEW, "default_after": entry, "ended_unix_s": START + 3723} if done else {}
    members = [member(i, "canary", progress, **after) for i in (1, 2, 3)]
    members += [member(i, "control", "measured 1 of 1 old") for i in (1, 2, 3)]
    events = [event(20, "canary-1", "measures boot 1 of the old arm"), event(0, "", "started by operator")]
    return rollout(state, **more) | {"members": members, "events": events, "tables": "",
                                     "comparison": comparison if compared else None}


DONE = {"wave": 2, "reason": "all waves are committed", "ended_unix_s": START + 3725, "verdict": "PROMOTE",
        "compared": True, "done": True}
put("GET_v1_rollouts_r1", detail("DONE", "committed", **DONE))
put("GET_v1_rollouts", {"rollouts": [rollout("CANARY", reason="canaries are measured")]})
put("GET_v1_hosts", {"hosts": [
    host("canary-1"),
    host("control-1", state="IDLE", outcome="done", reason="", release=OLD, pcp_batch_scale_max=-1, seen_age_s=7300),
    host("new-1", state=None, outcome=None, reason="", release="", pcp_batch_scale_max=None, seen_age_s=None,
         rollout="", kexec_booted=False, build_id="", agent="", model="", boot_id="", default_entry=""),
]})
put("GET_v1_hosts_canary-1", host("canary-1") | {
    "orders": [order(3, "measure", "running", arm="new", boot=0, target="new", ended_unix_s=None),
               order(2, "measure", "done", arm="old", boot=0, target="old"), order(1, "stage", "done")],
    "events": [event(30, "canary-1", "measures boot 1 of the new arm")],
    "member": member(1, "canary", "measured 1 of 1 old, 0 of 1 new")})
put("GET_v1_history?limit=2", {"events": [event(9, "canary-1", "staged"), event(0, "", "started by operator")]})
put("POST_v1_tokens", {"token": "ab" * 32, "expires_unix_s": START + 3600})
put("POST_v1_plans", {"name": "r1", "factor": "kernel", "problems": [], "hosts": [
    {"name": "canary-1", "cluster": "big", "role": "canary", "wave": 0, "steps": ["stage", "measure", "commit"]}]})
put("POST_v1_rollouts", rollout("APPROVED"))
for verb, state in ("start", "CANARY"), ("pause", "CANARY"), ("resume", "CANARY"), ("abort", "ROLLING_BACK"):
    put(f"POST_v1_rollouts_r1_{verb}", rollout(state, paused=verb == "pause"))
put("POST_v1_hosts_canary-1_retire", host("canary-1", retired=True))
# r2 to r4 are asked about again and again while they come to their ends
for name, end in ("r2", "ROLLED_BACK"), ("r3", "HOLD"), ("r4", "DONE"):
    steps = [detail("CANARY", "staged"), detail("CANARY", "staged"), detail("JUDGING", "measured"), detail(end, "measured")]
    for i, step in enumerate(steps):
        put(f"GET_v1_rollouts_{name}/{i}", step | {"name": name})
