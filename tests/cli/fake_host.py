#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# A host as the controller sees it (lib/fleet/message.h), for the tests of kpcp against the real controller: it enrols,
# polls, and says of each order of a preset's rollout that it is done. It changes nothing on this machine.
"""fake_host.py URL CA NAME TOKEN [poll|lie]: enrols, into the folder NAME; then obeys, or only says so, until it is
killed"""
import http.client
import json
import pathlib
import re
import ssl
import subprocess
import sys
import time
import uuid

url, ca, name, token = sys.argv[1:5]
folder = pathlib.Path(name)
address = url.removeprefix("https://")
STATE = {"apply": "APPLIED", "commit": "COMMITTED", "revert": "ROLLED_BACK"}
STOCK = 5


def post(path, message, context):
    connection = http.client.HTTPSConnection(address, context=context, timeout=20)
    connection.request("POST", path, json.dumps(message | {"version": 1}))
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    return answer.status, body


def trusting():
    return ssl.create_default_context(cafile=ca)


def enrol():
    folder.mkdir(exist_ok=True)
    subprocess.run(["openssl", "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
                    folder / "key", "-out", folder / "csr", "-subj", f"/CN={name}"], check=True, capture_output=True)
    status, body = post("/v1/enrol", {"token": token, "host": name, "csr": (folder / "csr").read_text()}, trusting())
    if status != 200:
        sys.exit(f"{status} {body}")
    (folder / "pem").write_text(body)


def obey(how):
    report = {"state": "IDLE", "epoch": 0, "outcome": "none", "reason": "", "rollout": "", "release": "6.1.158-kpcp",
              "build_id": "0123456789abcdef0123456789abcdef01234567", "boot_id": str(uuid.uuid4()),
              "default_entry": "debian", "model": "none", "kexec_booted": False, "pcp_batch_scale_max": STOCK,
              "attempts": 0, "uptime_s": 60, "serial": 0, "agent": "0.1.0"}
    while True:
        context = trusting()
        context.load_cert_chain(folder / "pem", folder / "key")
        try:
            status, body = post("/v1/poll", report, context)
        except OSError:  # the controller restarts
            status = 0
        if status == 200 and "order" in json.loads(body):
            reply = json.loads(body)
            order = reply["order"]
            if order["verb"] == "apply" and how != "lie":
                report["pcp_batch_scale_max"] = int(re.search(r"vm.pcp_batch_scale_max=(\d+)", reply["directive"])[1])
            elif order["verb"] == "revert":
                report["pcp_batch_scale_max"] = STOCK
            report |= {"state": STATE[order["verb"]], "epoch": order["epoch"], "outcome": "done",
                       "rollout": order["rollout"], "attempts": 1,
                       "serial": int(re.search(r"^serial = (\d+)", reply["directive"], re.M)[1])}
        elif status not in (0, 200):
            print(status, body, file=sys.stderr)
        time.sleep(0.2)


enrol()
if len(sys.argv) > 5:
    obey(sys.argv[5])
