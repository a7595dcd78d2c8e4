#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# The invented controller (controller.py) for agents: it takes uploads, too. It knows nothing of rollouts.
"""talk_server.py ANSWERS KEYS [MODE]: as controller.py"""
import http.server
import pathlib
import runpy

http.server.BaseHTTPRequestHandler.do_PUT = lambda self: self.answer()
runpy.run_path(str(pathlib.Path(__file__).with_name("controller.py")), run_name="__main__")
