#!/usr/bin/env python3
"""A receiver of webhooks that writes down what it gets, to the byte.

    serve_receiver.py JOURNAL

The first line on stdout says where it listens. Each request is a line of JSON in JOURNAL: {"method", "path", "headers",
"repeated", "body_base64"}, the names of header fields in small letters, `repeated` those that came more than once. The answer is 200, or the
number at the end of the path: /404. With the path /slow/1.5 it comes after so many seconds.
"""
import base64
import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock

journal = open(sys.argv[1], "a", buffering=1, encoding="utf-8")
lock = Lock()


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {}
        repeated = []
        for name, value in self.headers.items():
            if name.lower() in headers:
                repeated.append(name.lower())
            headers[name.lower()] = value
        with lock:
            print(json.dumps({"method": self.command, "path": self.path, "headers": headers, "repeated": repeated,
                              "body_base64": base64.b64encode(body).decode()}), file=journal)
        last = self.path.rsplit("/", 1)[-1]
        if self.path.startswith("/slow/"):
            time.sleep(float(last))
            last = ""
        self.send_response(int(last) if last.isdigit() else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_POST

    def log_message(self, *arguments):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
server.daemon_threads = True
print(f"listening on http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
