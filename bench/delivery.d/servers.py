"""The servers around lull: nginx and the sink receive, PostgreSQL and Redis keep the peers' jobs."""

import glob
import http.client
import json
import os
import pwd
import shutil
import signal
import subprocess

from machine import Unavailable, free_port, listens


def get(port, path):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", path)
    text = connection.getresponse().read().decode()
    connection.close()
    return text


class Nginx:
    """Answers every POST with 200, and counts them."""

    CONFIG = """
daemon off; master_process off; pid nginx.pid; error_log nginx-error.log;
events {{ worker_connections 2048; }}
http {{
    access_log off; keepalive_requests 1000000000; keepalive_timeout 600s;
    client_body_temp_path {folder}/nginx-body; proxy_temp_path {folder}/nginx-proxy;
    fastcgi_temp_path {folder}/nginx-fastcgi; uwsgi_temp_path {folder}/nginx-uwsgi; scgi_temp_path {folder}/nginx-scgi;
    server {{
        listen 127.0.0.1:{port};
        location / {{ return 200; }}
        location = /status {{ stub_status; }}
    }}
}}
"""

    def __init__(self, machine):
        program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
        if program is None:
            raise Unavailable("nginx is not installed")
        self.port, config = free_port(), machine.path("nginx.conf")
        with open(config, "w", encoding="ascii") as file:
            file.write(self.CONFIG.format(port=self.port, folder=machine.folder))
        self.url = f"http://127.0.0.1:{self.port}/hook"
        self.process = machine.start("nginx", [program, "-p", machine.folder, "-c", config])
        machine.wait_until(self.process, lambda: listens(self.port))

    def requests(self):
        """So far, this one not included."""
        return int(get(self.port, "/status").split("\n")[2].split()[2]) - 1


class Sink:
    """bench/sink.c: receives events that carry the time at which they were sent."""

    def __init__(self, machine, tools, *flags):
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}/hook"
        self.process = machine.start(
            "sink", [os.path.join(tools, "sink"), "--port", str(self.port), *flags])
        machine.wait_until(self.process, lambda: listens(self.port))

    def report(self):
        return json.loads(get(self.port, "/report"))


def _newest(pattern):
    def version(path):
        digits = [part for part in path.split("/") if part.replace(".", "").isdigit()]
        return float(digits[0]) if digits else 0
    found = sorted(glob.glob(pattern), key=version)
    return found[-1] if found else None


class Postgres:
    """As Debian sets it up, with more shared memory. Not even root may run it as root."""

    def __init__(self, machine):
        server = _newest("/usr/lib/postgresql/*/bin/postgres") or shutil.which("postgres")
        if server is None:
            raise Unavailable("PostgreSQL is not installed")
        programs, data, self.port = os.path.dirname(server), machine.path("postgres"), free_port()
        options, user = {}, pwd.getpwuid(os.getuid())
        os.mkdir(data, 0o700)
        if user.pw_uid == 0:
            user = self._somebody()
            options = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
            os.chown(data, user.pw_uid, user.pw_gid)
        made = subprocess.run(
            [os.path.join(programs, "initdb"), "-D", data, "-U", "bench", "-A", "trust",
             "-E", "UTF8", "--locale=C"], capture_output=True, check=False, cwd=data, **options)
        if made.returncode != 0:
            raise Unavailable("initdb failed: " + made.stderr.decode(errors="replace").strip())
        self.process = machine.start(
            "postgresql", [server, "-D", data, "-p", str(self.port), "-h", "127.0.0.1", "-k", data,
                           "-c", "shared_buffers=512MB", "-c", "max_wal_size=4GB"], **options)
        machine.wait_until(self.process, lambda: listens(self.port))
        self.url = f"postgres://bench@127.0.0.1:{self.port}/postgres"
        self.stop = lambda: machine.stop(self.process, signal.SIGINT)

    @staticmethod
    def _somebody():
        for name in ("postgres", "nobody"):
            try:
                return pwd.getpwnam(name)
            except KeyError:
                continue
        raise Unavailable("there is no user to run PostgreSQL as")


class Redis:
    def __init__(self, machine):
        program = shutil.which("redis-server")
        if program is None:
            raise Unavailable("redis-server is not installed")
        self.port = free_port()
        os.mkdir(machine.path("redis"))
        self.process = machine.start(
            "redis", [program, "--port", str(self.port), "--bind", "127.0.0.1",
                      "--dir", machine.path("redis"), "--appendonly", "yes",
                      "--appendfsync", "everysec", "--save", ""])
        machine.wait_until(self.process, lambda: listens(self.port))
        self.stop = lambda: machine.stop(self.process)
