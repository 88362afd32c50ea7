"""`lull serve` as a process under measurement, and the generator that feeds it."""

import http.client
import json
import os
import re
import signal
import subprocess
import time

from machine import Unavailable, free_port

SAMPLE = re.compile(r'^(\w+)(?:\{(.*)\})? ([0-9.eE+-]+)$', re.MULTILINE)


def destination(name, url, concurrency, signed=False):
    """A destination of the configuration. Unsigned, unless it matters: the peers do not sign either."""
    secret = "" if signed else '\n    secret: ""'
    return f"  - name: {name}\n    url: {url}\n    concurrency: {concurrency}{secret}\n"


class Lull:
    """One server on one store; it may be started and ended several times."""

    def __init__(self, machine, tools, name, destinations):
        self.machine, self.tools, self.name, self.port = machine, tools, name, free_port()
        self.store = machine.path(name, "lull.db")
        self.config = machine.path(name, "lull.yaml")
        self.process, self.connection = None, None
        os.makedirs(machine.path(name))
        self.configure(destinations)

    def configure(self, destinations):
        with open(self.config, "w", encoding="ascii") as file:
            file.write("addresses: {allow: [127.0.0.0/8]}\nlog_level: warn\nshutdown: {patience: 1s}\ndestinations:\n")
            file.write("".join(destinations))

    def start(self):
        """How long it took until it was ready, in seconds."""
        began = time.monotonic()
        self.process = self.machine.start(
            self.name, [self.tools.lull, "serve", "--listen", f"127.0.0.1:{self.port}",
                        "--store", f"sqlite:{self.store}", "-c", self.config])
        self.machine.wait_until(self.process, self._is_ready, 120)
        return time.monotonic() - began

    def stop(self, number=signal.SIGTERM):
        self._disconnect()
        self.machine.stop(self.process, number)

    def remove(self):
        """Its files, which may be many gigabytes."""
        for name in os.listdir(self.machine.path(self.name)):
            os.unlink(self.machine.path(self.name, name))

    # ---- talking to it ----

    def _disconnect(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def ask(self, method, path):
        """Status and body. The connection is kept, but lull may have closed it while we were busy elsewhere."""
        for again in (self.connection is not None, False):
            if self.connection is None:
                self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
            try:
                self.connection.request(method, path)
                answer = self.connection.getresponse()
                return answer.status, answer.read().decode()
            except (OSError, http.client.HTTPException):
                self._disconnect()
                if not again:
                    raise
        raise AssertionError("unreachable")

    def _is_ready(self):
        try:
            return self.ask("GET", "/readyz")[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    def change(self, name, verb):
        status, text = self.ask("POST", f"/v1/destinations/{name}/{verb}")
        if status != 200:
            raise Unavailable(f"{verb} of {name} was answered with {status}: {text}")

    def metric(self, name, label=""):
        """The sum over all its labels, or over those that contain `label`."""
        text = self.ask("GET", "/metrics")[1]
        return sum(float(value) for found, labels, value in SAMPLE.findall(text)
                   if found == name and label in labels)

    def delivered(self):
        return self.metric("lull_events_delivered_total")

    def wait_delivered(self, count, patience=900):
        limit = time.monotonic() + patience
        while (now := self.delivered()) < count:
            if time.monotonic() > limit:
                raise Unavailable(f"delivered {now:.0f} of {count:.0f} in {patience} s")
            time.sleep(0.02)

    # ---- looking at it ----

    def memory_mb(self):
        """Most that was ever resident, pages of files included."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            return int(re.search(r"VmHWM:\s+(\d+)", file.read()).group(1)) / 1024

    def disk_mb(self):
        folder = self.machine.path(self.name)
        return sum(os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder)) / 1e6

    # ---- load ----

    def begin_load(self, **options):
        """bench/load.c with these options; end_load gives what it says."""
        command = [os.path.join(self.tools.folder, "load"), "--port", str(self.port)]
        for name, value in options.items():
            command += [f"--{name}", str(value)]
        return self.machine.start("load", command, stdout=subprocess.PIPE, text=True)

    def end_load(self, process):
        text, _ = process.communicate()
        self.machine.stop(process)
        if process.returncode != 0:
            raise Unavailable(f"the load generator failed: {self.machine.log_of('load', 3)}")
        return json.loads(text)

    def load(self, **options):
        return self.end_load(self.begin_load(**options))

    def fill(self, name, count, payload=16):
        """Events that wait: for a destination that is paused."""
        return self.load(destination=name, events=count, batch=min(1000, count), connections=4, payload=payload)
