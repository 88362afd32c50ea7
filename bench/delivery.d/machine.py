"""Processes on this machine: started here, measured here, ended here."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

TICK = os.sysconf("SC_CLK_TCK")


class Unavailable(Exception):
    """What was to be measured cannot be had here; says why."""


def say(text):
    print(f"delivery: {text}", file=os.sys.stderr, flush=True)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _processes():
    """Of each process its parent and its CPU ticks, those of its ended children included."""
    found = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue  # it has just ended
        found[int(name)] = (int(fields[1]), sum(map(int, fields[11:15])))
    return found


def cpu_seconds(root):
    """CPU time of a process, its threads, and all that it has started."""
    processes, total, family = _processes(), 0, [root]
    while family:
        member = family.pop()
        total += processes.get(member, (0, 0))[1]
        family += [child for child, (parent, _) in processes.items() if parent == member]
    return total / TICK


def _busy_seconds():
    """CPU time of all processors so far, whoever used it."""
    with open("/proc/stat", encoding="ascii") as file:
        user, nice, system, _, _, interrupts, soft_interrupts = map(int, file.readline().split()[1:8])
    return (user + nice + system + interrupts + soft_interrupts) / TICK


class Meter:
    """CPU time and wall time of some processes between two moments.

    meter = Meter(lull=process, nginx=other); ...; meter.stop(); meter.cpu["lull"], meter.seconds

    `busy` is the CPU time of the whole machine: what is in no process of ours, neighbours took.
    """

    def __init__(self, **processes):
        self.processes = processes
        self.before = {name: cpu_seconds(process.pid) for name, process in processes.items()}
        self.seconds, self.busy, self.cpu = None, _busy_seconds(), {}
        self.began = time.monotonic()

    def stop(self):
        self.seconds = time.monotonic() - self.began
        self.busy = _busy_seconds() - self.busy
        for name, process in self.processes.items():
            self.cpu[name] = cpu_seconds(process.pid) - self.before[name]
        return self


class Machine:
    """A temporary folder and the processes that were started in it."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="lull-bench-")
        os.chmod(self.folder, 0o755)  # others' servers run as others
        self.running = []

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def start(self, name, command, **options):
        """A process whose messages go to NAME.log."""
        options.setdefault("stdin", subprocess.DEVNULL)
        with open(self.path(f"{name}.log"), "ab") as log:
            options.setdefault("stdout", log)
            process = subprocess.Popen(command, stderr=log, cwd=self.folder, **options)
        process.name = name
        self.running.append(process)
        return process

    def stop(self, process, number=signal.SIGTERM, patience=60):
        if process.poll() is None:
            process.send_signal(number)
            try:
                process.wait(patience)
            except subprocess.TimeoutExpired:
                say(f"{process.name} does not end within {patience} s")
                process.kill()
                process.wait()
        if process in self.running:
            self.running.remove(process)

    def log_of(self, name, lines=5):
        try:
            with open(self.path(f"{name}.log"), encoding="utf-8", errors="replace") as file:
                return " / ".join(line.strip() for line in file.readlines()[-lines:])
        except OSError:
            return ""

    def wait_until(self, process, reached, patience=30):
        """Waits until reached() is true, and fails if the process ends before."""
        limit = time.monotonic() + patience
        while not reached():
            if process.poll() is not None:
                raise Unavailable(f"{process.name} ended: {self.log_of(process.name)}")
            if time.monotonic() > limit:
                raise Unavailable(f"{process.name} was not ready within {patience} s")
            time.sleep(0.002)

    def clean_up(self):
        for process in reversed(list(self.running)):
            self.stop(process, signal.SIGINT, 20)
        shutil.rmtree(self.folder, ignore_errors=True)


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
