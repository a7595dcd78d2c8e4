#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
#
# An invented controller for the tests of kpcp: HTTPS with client certificates on a free port of 127.0.0.1, answering
# from files. It knows nothing of rollouts.
"""controller.py ANSWERS KEYS [MODE]

ANSWERS/port gets the port. A request "GET /v1/hosts" is answered by the file ANSWERS/GET_v1_hosts; where that is a
folder, by its files in the order of their names, the last one again and again. A file that begins with "HTTP " has the
status and headers in its first line: "HTTP 503 Retry-After: 7". Requests go to ANSWERS/log, one a line, bodies to
ANSWERS/body.N. KEYS is what kpcp init made. MODE: anyone (no client certificate is asked for), silent (takes
connections and never speaks), mute (TLS, and then no answer)."""
import http.server
import os
import pathlib
import socket
import ssl
import sys
import threading

answers, keys = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
mode = sys.argv[3] if len(sys.argv) > 3 else ""


def say_port(port):
    (answers / "port.new").write_text(str(port))
    os.replace(answers / "port.new", answers / "port")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    count = 0

    def log_message(self, *args):
        pass

    def find(self):
        path = answers / (self.command + self.path.replace("/", "_"))
        if path.is_dir():
            left = sorted(path.iterdir())
            path = left[0]
            data = path.read_bytes()
            if len(left) > 1:
                path.unlink()
            return data
        return path.read_bytes() if path.exists() else b"HTTP 404\nno such thing here\n"

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        with open(answers / "log", "a", encoding="utf-8") as log:
            print(self.command, self.path, file=log)
        Handler.count += 1
        (answers / f"body.{Handler.count}").write_bytes(body)
        if mode == "mute":
            threading.Event().wait()
        data, status, headers = self.find(), 200, []
        if data.startswith(b"HTTP "):
            first, data = data.split(b"\n", 1)
            words = first.decode().split(" ", 2)
            status = int(words[1])
            headers = [words[2].split(": ", 1)] if len(words) > 2 else []
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = answer


if mode == "silent":
    listening = socket.create_server(("127.0.0.1", 0))
    say_port(listening.getsockname()[1])
    threading.Event().wait()

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
server.handle_error = lambda request, client: None  # clients without a good certificate are part of the tests
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(keys / "server.pem", keys / "server.key")
if mode != "anyone":
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(keys / "ca.pem")
server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
say_port(server.server_address[1])
server.serve_forever()
