"""graphile-worker and BullMQ: the same POSTs to the same nginx, by their own workers (bench/peers/delivery)."""

import hashlib
import os
import shutil
import subprocess

from machine import Meter, Unavailable, say
from servers import Postgres, Redis

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(os.path.dirname(HERE), "peers", "delivery")


def _cache():
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.environ.get("LULL_BENCH_CACHE") or os.path.join(home, "lull-bench")


def _stamp():
    digest = hashlib.sha256(subprocess.run(["node", "--version"], capture_output=True, check=True).stdout)
    for name in sorted(os.listdir(SOURCE)):
        with open(os.path.join(SOURCE, name), "rb") as file:
            digest.update(name.encode() + b"\0" + file.read())
    return digest.hexdigest()


def install():
    """The folder with the programs and their packages; as bench/peers/run.sh does it, in the same cache."""
    for tool in ("node", "npm"):
        if shutil.which(tool) is None:
            raise Unavailable(f"{tool} is not installed")
    folder, stamp = os.path.join(_cache(), "build", "delivery"), _stamp()
    mark = os.path.join(folder, ".built")
    if os.path.exists(mark) and open(mark, encoding="ascii").read() == stamp:
        return folder
    say("downloading graphile-worker and BullMQ")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(SOURCE, folder)
    command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1"]
    if os.environ.get("LULL_BENCH_OFFLINE"):
        command.append("--offline")
    try:
        limit = float(os.environ.get("LULL_BENCH_BUILD_TIMEOUT") or 300)
        done = subprocess.run(command, cwd=folder, capture_output=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        raise Unavailable("its packages could not be downloaded in time") from None
    if done.returncode != 0:
        raise Unavailable("its packages could not be downloaded")
    with open(mark, "w", encoding="ascii") as file:
        file.write(stamp)
    return folder


def _expect(process, word):
    while True:
        line = process.stdout.readline()
        if line == "":
            raise Unavailable(f"{process.name} ended before it was {word}")
        if line.strip() == word:
            return


def _run(machine, nginx, script, events, keeper, address):
    """One peer: a process that enqueues, one that works. CPU and wall time from the first `go` to the last job's completion."""
    folder, nodes = install(), {}
    for role in ("work", "enqueue"):
        nodes[role] = machine.start(
            f"{script}-{role}", ["node", os.path.join(folder, f"{script}.mjs"), role, str(events),
                                 str(address), nginx.url],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        _expect(nodes[role], "ready")
    try:
        received = nginx.requests()
        meter = Meter(worker=nodes["work"], nginx=nginx.process, **keeper)
        before = os.times()
        for role in ("work", "enqueue"):
            nodes[role].stdin.write("go\n")
        _expect(nodes["enqueue"], "done")
        _expect(nodes["work"], "done")
        meter.stop()
        received = nginx.requests() - received - 1
        nodes["enqueue"].wait(30)
        after = os.times()
        # It has ended; what it took is told by what ended children of ours took. Its start is included.
        meter.cpu["producer"] = (after.children_user - before.children_user
                                 + after.children_system - before.children_system)
    finally:
        for process in nodes.values():
            machine.stop(process)
    if received < events:
        raise Unavailable(f"nginx received {received} of {events} requests")
    return meter


def graphile_worker(machine, nginx, events):
    server = Postgres(machine)
    try:
        return _run(machine, nginx, "graphile-worker", events, {"postgres": server.process}, server.url)
    finally:
        server.stop()


def bullmq(machine, nginx, events):
    server = Redis(machine)
    try:
        return _run(machine, nginx, "bullmq", events, {"redis": server.process}, server.port)
    finally:
        server.stop()


PEERS = {"graphile-worker": graphile_worker, "bullmq": bullmq}
