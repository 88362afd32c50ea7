#!/usr/bin/env python3
"""A minute with lull: events flow to a destination that goes through an outage. Watch the backlog
grow, the circuit open, the lane ramp up again, and the backlog drain. Nothing is lost.

    tools/demo.py LULL [--quick]
"""
import http.client
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time

RATE = 40  # events a second
CAPACITY = 80  # what the destination can take
HEAD = " time shop  accepted delivered at it circuit   window backlog "
BAR = max(5, min(40, shutil.get_terminal_size().columns - len(HEAD) - 1))
EVENTS = 600 // BAR  # that a sign of the bar stands for

YAML = """\
addresses:
  allow: [127.0.0.0/8]        # the demo's destination is on this machine
destinations:
  - name: shop
    url: {url}/hooks
    attempts: 20
    base: 1s
    cap: 4s
    concurrency: 10
    breaker: {{open_time: 4s, open_max: 4s}}
"""


class Server:
    """A child process that says where it listens."""

    def __init__(self, arguments, log, words):
        self.log = open(log, "w", encoding="utf-8")
        self.process = subprocess.Popen(
            arguments, stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.urls = {}
        while len(self.urls) < words:
            line = self.process.stdout.readline()
            if not line:
                self.process.wait()
                raise SystemExit(open(log, encoding="utf-8").read() or "it ended at once")
            what, url = line.strip().rsplit(" ", 1)
            self.urls[what.split(" ")[0]] = url

    def end(self):
        self.process.terminate()
        self.process.wait()
        self.log.close()


def connect(url):
    return http.client.HTTPConnection(url.removeprefix("http://"), timeout=5)


def ask(connection, method, path, body=None):
    connection.request(method, path, body)
    return json.loads(connection.getresponse().read())


class Producer(threading.Thread):
    """One event after the other, at a steady pace."""

    def __init__(self, url):
        super().__init__(daemon=True)
        self.connection, self.accepted, self.stop = connect(url), 0, False

    def run(self):
        due = time.monotonic()
        while not self.stop:
            self.connection.request("POST", "/v1/destinations/shop/events",
                                    json.dumps({"order": self.accepted}),
                                    {"Content-Type": "application/json"})
            answer = self.connection.getresponse()
            answer.read()
            self.accepted += answer.status == 202
            due += 1 / RATE
            time.sleep(max(0, due - time.monotonic()))


def show(second, up, producer, shop, arrived):
    backlog = shop["backlog"]
    waiting = backlog["fresh"] + backlog["retry"]
    bar = "#" * min(BAR, (waiting + EVENTS - 1) // EVENTS)
    print(f"{second:3d} s {'up' if up else 'DOWN':4}  {producer.accepted:8} {shop['delivered']:9} "
          f"{arrived:3}/s {shop['circuit']:9} {shop['window']:6} {waiting:7} {bar}", flush=True)


def main():
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    lull, quick = sys.argv[1], "--quick" in sys.argv
    begin, length, most = (3, 4, 40) if quick else (6, 14, 75)
    folder = tempfile.mkdtemp(prefix="lull-demo-")
    flaky = serve = None
    try:
        flaky = Server([lull, "flaky", "--listen", "127.0.0.1:0", "--control", "127.0.0.1:0",
                        "--latency", "20ms", "--capacity", str(CAPACITY)],
                       os.path.join(folder, "flaky.log"), 2)
        with open(os.path.join(folder, "lull.yaml"), "w", encoding="utf-8") as file:
            file.write(YAML.format(url=flaky.urls["listening"]))
        serve = Server([lull, "serve", "-c", os.path.join(folder, "lull.yaml"), "--listen",
                        "127.0.0.1:0", "--store", "sqlite:" + os.path.join(folder, "lull.db")],
                       os.path.join(folder, "serve.log"), 1)
        print(f"lull serve is at {serve.urls['listening']}. Its destination can take {CAPACITY} "
              f"requests a\nsecond and gets {RATE}. At {begin} s it goes down, for {length} s.\n\n{HEAD}")
        watch, control = connect(serve.urls["listening"]), connect(flaky.urls["control"])
        producer = Producer(serve.urls["listening"])
        producer.start()
        seen, second, up = 0, 0, True
        while second < most:
            time.sleep(1)
            second += 1
            if second == begin:
                ask(control, "PATCH", "/_flaky", json.dumps({"outage": f"0s+{length}s"}))
            up = not begin <= second < begin + length
            total = ask(control, "GET", "/_flaky")["counters"]["requests"]
            shop = ask(watch, "GET", "/v1/destinations/shop")
            show(second, up, producer, shop, total - seen)
            seen = total
            waiting = shop["backlog"]["fresh"] + shop["backlog"]["retry"]
            if second > begin + length and waiting < 5 and shop["window"] == 10:
                break
        producer.stop = True
        producer.join()
        while waiting > 0 and second < most + 30:
            time.sleep(1)
            second += 1
            shop = ask(watch, "GET", "/v1/destinations/shop")
            waiting = shop["backlog"]["fresh"] + shop["backlog"]["retry"]
        lost = producer.accepted - shop["delivered"] - shop["backlog"]["dead"] - waiting
        print(f"\n{producer.accepted} accepted, {shop['delivered']} delivered, "
              f"{shop['backlog']['dead']} dead, {waiting} waiting, {lost} lost. What the server said:\n")
        with open(os.path.join(folder, "serve.log"), encoding="utf-8") as file:
            print(file.read())
        return 0 if lost == 0 and waiting == 0 else 1
    except KeyboardInterrupt:
        return 130
    finally:
        for server in (serve, flaky):
            if server is not None:
                server.end()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
