"""What is measured. Each part starts what it needs and ends it."""

import signal
import statistics
import time

from lull import Lull, destination
from machine import Meter, Unavailable, free_port, say
from peers import PEERS
from servers import Nginx, Sink

NOBODY = "http://127.0.0.1:9/"  # for destinations that are paused


class Bench:
    def __init__(self, machine, tools, report, quick):
        self.machine, self.tools, self.report, self.quick = machine, tools, report, quick
        self.servers = 0
        self._nginx = None
        self.ours = {}  # events a second, and a CPU second, end to end: what the peers are compared with

    @property
    def nginx(self):
        if self._nginx is None:
            self._nginx = Nginx(self.machine)
        return self._nginx

    def tidy(self):
        """Ends what a part has left running, if it failed; but for nginx, which the next one may want."""
        for process in list(self.machine.running):
            if self._nginx is None or process is not self._nginx.process:
                self.machine.stop(process, signal.SIGKILL)

    def size(self, full, share=10):
        return full // share if self.quick else full

    def lull(self, destinations):
        self.servers += 1
        return Lull(self.machine, self.tools, f"lull-{self.servers}", destinations)

    def add_cpu(self, subject, prefix, meter, events):
        """CPU per event of each process; and how many cores neighbours took, for it is not our machine alone."""
        for name, seconds in meter.cpu.items():
            self.report.add(subject, f"{prefix}cpu_us_per_event", seconds * 1e6 / events, process=name)
        self.report.add(subject, f"{prefix}cpu_us_per_event", sum(meter.cpu.values()) * 1e6 / events, process="all")
        elsewhere = max(0, meter.busy - sum(meter.cpu.values())) / meter.seconds
        self.report.add(subject, f"{prefix}cores_taken_by_others", elsewhere)


# ---- ingest ----

def _ingest(bench, prefix, bars, **load):
    server = bench.lull([destination("hooks", NOBODY, 10)])
    server.start()
    server.change("hooks", "pause")
    meter = Meter(lull=server.process)
    said = server.load(**load)
    meter.stop()
    bench.report.add("lull", f"{prefix}_events_per_second", said["events_per_second"], bars[0])
    bench.report.add("lull", f"{prefix}_p50_ms", said["p50_ms"])
    bench.report.add("lull", f"{prefix}_p99_ms", said["p99_ms"], bars[1])
    meter.cpu["load"] = said["cpu_seconds"]
    bench.add_cpu("lull", f"{prefix}_", meter, said["events"])
    bench.report.add("lull", f"{prefix}_memory_mb", server.memory_mb())
    accepted = server.metric("lull_events_accepted_total")
    server.stop()
    server.remove()
    if accepted != said["events"]:
        raise Unavailable(f"{said['events']} events were acknowledged, {accepted:.0f} were accepted")


def ingest(bench):
    """One event a request."""
    for connections, bar in ((64, 30000), (256, 40000)):
        say(f"ingest at {connections} connections")
        _ingest(bench, f"ingest_{connections}", ((">=", bar), ("<=", 20)),
                connections=connections, seconds=1 if bench.quick else 8)


def batch(bench):
    """Many events a request."""
    say("ingest by batch")
    _ingest(bench, "batch", ((">=", 150000), None), connections=4, batch=1000, events=bench.size(1500000))


# ---- end to end ----

def _deliver(bench, nginx, events, signed):
    """From the first batch to the last completion that is committed."""
    server = bench.lull([destination("hooks", nginx.url, 64, signed)])
    server.start()
    received = nginx.requests()
    meter = Meter(lull=server.process, nginx=nginx.process)
    said = server.load(events=events, batch=1000, connections=2)
    server.wait_delivered(events)
    meter.stop()
    meter.cpu["producer"] = said["cpu_seconds"]
    received = nginx.requests() - received - 1
    server.stop()
    server.remove()
    if received < events:
        raise Unavailable(f"nginx received {received} of {events} events")
    return meter


def end_to_end(bench):
    events = bench.size(300000)
    for signed in (False, True):
        say("lull end to end" + (", signed" if signed else ""))
        meter = _deliver(bench, bench.nginx, events, signed)
        prefix = "signed_" if signed else ""
        bench.report.add("lull", f"{prefix}events_per_second", events / meter.seconds,
                         None if signed else (">=", 20000))
        bench.add_cpu("lull", prefix, meter, events)
        if not signed:
            bench.ours = {"throughput": events / meter.seconds,
                          "throughput_per_cpu": events / sum(meter.cpu.values())}


def peers(bench):
    events = bench.size(60000)
    for name, run in PEERS.items():
        say(name)
        try:
            meter = run(bench.machine, bench.nginx, events)
        except Unavailable as why:
            bench.report.skip(name, str(why))
            continue
        bench.report.add(name, "events_per_second", events / meter.seconds)
        bench.add_cpu(name, "", meter, events)
        for metric, ours in bench.ours.items():
            theirs = events / (meter.seconds if metric == "throughput" else sum(meter.cpu.values()))
            bench.report.add("lull", f"{metric}_times_{name}", ours / theirs)


# ---- isolation ----

HEALTHY = 50


def _healthy_round(bench, server, sink, rate, events, beside):
    """p99 of paced events from due to received; then how many a second come through in a burst."""
    seconds = 2 if bench.quick else 6
    server.start()
    if beside:  # forgets that the destination is dead, so that it is tried in each round
        server.change("dead", "pause")
        server.change("dead", "resume")
    for duration in (1, seconds):  # the first one only warms it up
        before = server.delivered()
        sink.report()
        sent = server.load(destination="d", destinations=HEALTHY, connections=100, rate=rate, seconds=duration)["events"]
        server.wait_delivered(before + sent)
        paced = sink.report()
    if paced["received"] < sent:
        raise Unavailable(f"{paced['received']} of {sent} paced events arrived")
    before = server.delivered()
    meter = Meter(lull=server.process)
    server.load(destination="d", destinations=HEALTHY, connections=2, batch=1000, events=events)
    server.wait_delivered(before + events)
    meter.stop()
    found = {"p99_ms": paced["p99_ms"], "p50_ms": paced["p50_ms"], "events_per_second": events / meter.seconds,
             "cpu_us": meter.cpu["lull"] * 1e6 / events, "memory_mb": server.memory_mb(),
             "backlog": server.metric("lull_backlog", 'destination="dead"'),
             "attempts": server.metric("lull_attempts_total", 'destination="dead"')}
    server.stop()
    return found


def isolation(bench):
    """The healthy next to a dead destination with a backlog, and without it, in turns."""
    sink, hanging = Sink(bench.machine, bench.tools.folder), Sink(bench.machine, bench.tools.folder, "--hang")
    healthy = [destination(f"d{i}", sink.url, 10) for i in range(HEALTHY)]
    dead = {"refusing": f"http://127.0.0.1:{free_port()}/", "hanging": hanging.url}
    backlog, events, rate = bench.size(1000000, 100), bench.size(100000), 3000
    servers = {"alone": bench.lull(healthy)}
    for kind, url in dead.items():
        say(f"isolation: {backlog} events for a destination that is {kind}")
        server = servers[kind] = bench.lull(healthy + [destination("dead", url, 10)])
        server.start()
        server.change("dead", "pause")
        server.fill("dead", backlog)
        server.stop()
    rounds = {kind: [] for kind in servers}
    for turn in range(1 if bench.quick else 5):
        for kind, server in servers.items():
            say(f"isolation: round {turn + 1}, {kind}")
            rounds[kind].append(_healthy_round(bench, server, sink, rate, events, kind != "alone"))
    for server in servers.values():
        server.remove()
    for kind, found in rounds.items():
        _report_isolation(bench.report, kind, found, rounds["alone"])


def _report_isolation(report, kind, found, alone):
    """Medians; of ratios, too: each of a round and the one that was run without the dead destination just before."""
    def ratio(name):
        return statistics.median(one[name] / other[name] for one, other in zip(found, alone))

    names = ["events_per_second", "p50_ms", "p99_ms", "cpu_us"] + (["backlog", "attempts"] if found is not alone else [])
    for name in names:
        report.add("lull", f"isolation_{kind}_{name}", statistics.median(one[name] for one in found))
    if found is not alone:
        report.add("lull", f"isolation_{kind}_throughput_ratio", ratio("events_per_second"), (">=", 0.9))
        report.add("lull", f"isolation_{kind}_p99_ratio", ratio("p99_ms"), ("<=", 1.1))
        report.add("lull", f"isolation_{kind}_cpu_ratio", ratio("cpu_us"))
        report.add("lull", f"isolation_{kind}_memory_mb", max(one["memory_mb"] for one in found), ("<=", 150))


# ---- flat ----

def _cpu_beside(bench, server, events):
    """lull's CPU per event that is accepted and delivered while others wait: the median of some rounds."""
    found = []
    for _ in range(3):
        before, meter = server.delivered(), Meter(lull=server.process)
        server.load(destination="live", events=events, batch=1000, connections=2)
        server.wait_delivered(before + events)
        found.append(meter.stop().cpu["lull"] * 1e6 / events)
    return statistics.median(found)


def _cpu_drain(server, events):
    """lull's CPU per delivery out of the backlog itself, which is on disk."""
    before, meter = server.delivered(), Meter(lull=server.process)
    server.change("waiting", "resume")
    server.wait_delivered(before + events)
    meter.stop()
    server.change("waiting", "pause")
    time.sleep(0.5)
    return meter.cpu["lull"] * 1e6 / (server.delivered() - before)


def _start_ups(bench, server):
    bench.report.add("lull", "flat_memory_mb", server.memory_mb())
    server.stop()
    bench.report.add("lull", "start_seconds", server.start(), ("<=", 3))
    feeding = server.begin_load(destination="waiting", batch=1000, connections=2, seconds=30)
    time.sleep(1)
    server.stop(signal.SIGKILL)
    feeding.wait()  # it complains: that is what it is for
    bench.machine.stop(feeding)
    bench.report.add("lull", "start_after_kill_seconds", server.start(), ("<=", 3))
    bench.report.add("lull", "start_backlog", server.metric("lull_backlog", 'destination="waiting"'))


def flat(bench):
    """What a delivery costs, few or many waiting; and how soon the server is up with many."""
    few, many = 10000, bench.size(10000000, 100)
    server = bench.lull([destination("live", bench.nginx.url, 64), destination("waiting", bench.nginx.url, 64)])
    server.start()
    server.change("waiting", "pause")
    beside, drain = {}, {}
    for size in (few, many):
        say(f"flat: {size} waiting")
        server.fill("waiting", size)
        beside[size] = _cpu_beside(bench, server, bench.size(100000))
        drain[size] = _cpu_drain(server, few if size == few else bench.size(100000))
        bench.report.add("lull", f"flat_{size}_cpu_us_per_delivery", beside[size])
        bench.report.add("lull", f"flat_{size}_drain_cpu_us_per_delivery", drain[size])
    bench.report.add("lull", "flat_cpu_ratio", beside[many] / beside[few], ("<=", 1.3))
    bench.report.add("lull", "flat_drain_cpu_ratio", drain[many] / drain[few], ("<=", 1.3))
    _start_ups(bench, server)
    bench.report.add("lull", "flat_disk_mb", server.disk_mb())
    server.stop(signal.SIGKILL)
    server.remove()


PARTS = {"ingest": ingest, "batch": batch, "end_to_end": end_to_end, "peers": peers, "isolation": isolation, "flat": flat}
