#!/usr/bin/env python3
"""Kills lull serve again and again, and counts.

    tests/crash/campaign.py LULL [--kills N] [--seed N] [--faults FAULTS.so] [--keep]

A producer sends events, a receiver records them, and the server is killed (SIGKILL) at random moments and started again on
the same file. At the end every event that was answered with 202 must have been received or be a dead letter, and an event
received twice must have been under way when a kill came. With --faults a library is loaded into the server that makes SQLite's
writes and syncs fail at times (disk full, I/O error): then, too, nothing that was answered with 202 may be missing.

Prints TAP, and how to repeat a run that failed.
"""
import argparse
import asyncio
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time

PRODUCERS = 16
PERMANENT = 0.01  # of the events are refused for good, and must be found among the dead letters
FAILING = 0.05  # of the attempts fail and are tried again
SETTLED = 3.0  # seconds within which an outcome is on disk, however slow the machine

CONFIG = """\
addresses: {allow: [127.0.0.0/8]}
log_level: warn
shutdown: {patience: 1s}
policies:
  - {name: quick, preset: webhook, attempts: 50, base: 50ms, cap: 500ms}
"""


class Receiver:
    """Answers by what the event says, and remembers when each was received."""

    def __init__(self, chance):
        self.chance, self.taken, self.refused = chance, {}, set()

    async def serve(self):
        self.server = await asyncio.start_server(self.client, "127.0.0.1", 0)
        return self.server.sockets[0].getsockname()[1]

    async def client(self, reader, writer):
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                fields = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
                body = await reader.readexactly(int(fields.get("content-length", "0")))
                writer.write(self.answer(fields["webhook-id"], int(fields["x-life"]), body))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def answer(self, event, life, body):
        if b'"permanent"' in body:
            self.refused.add(event)
            return b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"
        if self.chance.random() < FAILING:
            return b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"
        self.taken.setdefault(event, []).append((life, time.monotonic()))
        return b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


async def exchange(reader, writer, method, path, body=b"", fields=""):
    writer.write(f"{method} {path} HTTP/1.1\r\nHost: lull\r\nContent-Length: {len(body)}\r\n{fields}\r\n".encode() + body)
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    length = 0
    for line in head.split("\r\n"):
        if line.lower().startswith("content-length:"):
            length = int(line.split(":")[1])
    return int(head.split(" ")[1]), await reader.readexactly(length)


class Campaign:
    def __init__(self, options):
        self.options = options
        self.chance = random.Random(options.seed)
        self.folder = tempfile.mkdtemp(prefix="lull-crash-")
        self.receiver = Receiver(random.Random(options.seed + 1))
        self.accepted, self.refusals, self.kills = {}, 0, []
        self.process, self.port, self.up, self.over = None, 0, asyncio.Event(), False
        self.life, self.receiver_port = 0, 0

    # -- the server --

    def environment(self, faults):
        environment = dict(os.environ)
        if faults and self.options.faults:
            environment["LD_PRELOAD"] = os.path.abspath(self.options.faults)
            environment["LULL_FAULTS"] = str(self.chance.randrange(1 << 30))
        return environment

    def configure(self):
        """Each life of the server tells the receiver which it is."""
        self.life = len(self.kills)
        with open(os.path.join(self.folder, "lull.yaml"), "w", encoding="utf-8") as file:
            file.write(CONFIG)
            file.write("destinations:\n")
            for i in range(3):
                file.write(f"  - {{name: d{i}, url: \"http://127.0.0.1:{self.receiver_port}/\", policy: quick, "
                           f"headers: {{X-Life: \"{self.life}\"}}}}\n")

    async def start(self, faults=True):
        self.configure()
        log = open(os.path.join(self.folder, "serve.log"), "a", encoding="utf-8")
        self.process = await asyncio.create_subprocess_exec(
            self.options.lull, "serve", "-c", os.path.join(self.folder, "lull.yaml"), "--listen", f"127.0.0.1:{self.port}",
            "--store", "sqlite:" + os.path.join(self.folder, "lull.db"), stdout=asyncio.subprocess.PIPE, stderr=log,
            env=self.environment(faults))
        log.close()
        line = (await self.process.stdout.readline()).decode()
        if not line.startswith("listening on"):
            await self.process.wait()
            return False  # with faults it may be unable to start
        self.port = int(line.rsplit(":", 1)[1])
        self.up.set()
        return True

    async def kill(self):
        self.up.clear()
        self.kills.append(time.monotonic())
        try:
            self.process.send_signal(signal.SIGKILL)
        except ProcessLookupError:
            pass
        await self.process.wait()

    async def ask(self, method, path, body=b""):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            return await exchange(reader, writer, method, path, body)
        finally:
            writer.close()

    # -- the producers --

    async def produce(self, number):
        chance, count = random.Random(self.options.seed * 1000 + number), 0
        while not self.over:
            await self.up.wait()
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
                while not self.over:
                    count += 1
                    if chance.random() < 0.1:
                        await self.send_batch(reader, writer, chance, f"{number}.{count}")
                    else:
                        await self.send_one(reader, writer, chance, f"{number}.{count}")
            except (ConnectionError, asyncio.IncompleteReadError, OSError):
                await asyncio.sleep(0.005)

    @staticmethod
    def payload(chance, name):
        kind = "permanent" if chance.random() < PERMANENT else "usual"
        return {"name": name, "kind": kind, "filling": "x" * chance.randrange(400)}

    async def send_one(self, reader, writer, chance, name):
        body = json.dumps(self.payload(chance, name)).encode()
        status, answer = await exchange(reader, writer, "POST", f"/v1/destinations/d{chance.randrange(3)}/events", body,
                                        "Content-Type: application/json\r\n")
        if status == 202:
            self.accepted[json.loads(answer)["id"]] = name
        else:
            self.refused(status, answer)

    async def send_batch(self, reader, writer, chance, name):
        lines = [json.dumps({"destination": f"d{chance.randrange(3)}", "payload": self.payload(chance, f"{name}.{i}")})
                 for i in range(20)]
        status, answer = await exchange(reader, writer, "POST", "/v1/events:batch", "\n".join(lines).encode())
        if status == 202:
            for event in json.loads(answer)["ids"]:
                self.accepted[event] = name
        else:
            self.refused(status, answer)

    def refused(self, status, answer):
        self.refusals += 1
        if status != 503 or not self.options.faults:
            print(f"# refused with {status}: {answer[:200]!r}")

    # -- the verdict --

    async def settle(self):
        """All that is pending is delivered or dies."""
        last, still = None, time.monotonic()
        while True:
            try:
                items = json.loads((await self.ask("GET", "/v1/destinations"))[1])["items"]
            except (OSError, asyncio.IncompleteReadError) as error:
                print(f"# cannot ask: {error}")
                items = []
            waiting = sum(item["backlog"]["fresh"] + item["backlog"]["retry"] for item in items)
            figures = [(item["delivered"], item["backlog"]) for item in items]
            if items and waiting == 0:
                return True
            if figures != last:
                last, still = figures, time.monotonic()
            if time.monotonic() - still > 30:
                print(f"# stuck with {waiting} waiting: {items}")
                return False
            await asyncio.sleep(0.2)

    async def dead_letters(self):
        dead, cursor = set(), ""
        while cursor is not None:
            page = json.loads((await self.ask("GET", f"/v1/dlq?limit=1000{cursor and '&cursor=' + cursor}"))[1])
            dead.update(item["event"] for item in page["items"])
            cursor = page["next"]
        return dead

    def unexplained(self):
        """Received twice in one life, or long before the life ended."""
        wrong = []
        for event, times in self.receiver.taken.items():
            for (life, at), (next_life, _) in zip(times, times[1:]):
                if life == next_life or self.kills[life] - at > SETTLED:
                    wrong.append(event)
        return wrong

    async def run(self):
        self.receiver_port = await self.receiver.serve()
        assert await self.start(faults=False)
        producers = [asyncio.create_task(self.produce(i)) for i in range(PRODUCERS)]
        failed_starts = 0
        for number in range(self.options.kills):
            # Mostly soon, so that kills meet start-up and recovery, too.
            await asyncio.sleep(self.chance.choice([0.02, 0.1, 0.3]) * (0.5 + self.chance.random()))
            await self.kill()
            while not await self.start():
                failed_starts += 1
                if failed_starts > 20 * self.options.kills:
                    raise SystemExit("it does not start any more; see " + self.folder)
            if sys.stderr.isatty():
                sys.stderr.write(f"\r{number + 1} kills, {len(self.accepted)} accepted ")
        if self.options.faults:  # the disk is well again
            await self.kill()
            assert await self.start(faults=False)
        await asyncio.sleep(0.2)
        self.over = True
        await asyncio.gather(*producers)
        settled = await self.settle()
        dead = await self.dead_letters() if settled else set()
        missing = [event for event in self.accepted if event not in self.receiver.taken and event not in dead]
        twice = sum(len(times) > 1 for times in self.receiver.taken.values())
        self.process.terminate()
        code = await self.process.wait()
        print(f"# {len(self.kills)} kills, {failed_starts} failed starts, {len(self.accepted)} accepted, {self.refusals} "
              f"refused, {len(self.receiver.taken)} received, {len(dead)} dead, {twice} received twice")
        good = self.tell("every accepted event was received or is dead", not missing and settled, missing)
        good &= self.tell("duplicates were under way at a kill", not self.unexplained(), self.unexplained())
        good &= self.tell("there were events, duplicates aside", len(self.accepted) > 10 * self.options.kills, [])
        good &= self.tell("it ends cleanly", code == 0, [code])
        return good

    def tell(self, name, good, examples):
        kind = "faults and kills" if self.options.faults else "kills"
        print(f"{'ok' if good else 'not ok'} - {kind}: {name}")
        if not good:
            print(f"    {len(examples)}, such as {examples[:5]}; again: tests/crash/run {self.options.kills} "
                  f"{self.options.seed}; files in {self.folder}")
        return good


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("lull")
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--faults")
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    if options.seed is None:
        options.seed = int.from_bytes(os.urandom(3), "big")
    campaign = Campaign(options)
    good = False
    try:
        good = asyncio.run(campaign.run())
    finally:
        if campaign.process is not None and campaign.process.returncode is None:
            try:
                os.kill(campaign.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if good and not options.keep:
            shutil.rmtree(campaign.folder, ignore_errors=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
