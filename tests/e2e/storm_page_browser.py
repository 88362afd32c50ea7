"""A page in a headless Chromium, by its DevTools protocol over a pair of pipes: nothing but Python is needed.

    with Browser("chromium") as browser:
        browser.open("/tmp/report.html", width=1280, height=900, dark=False)
        browser.value("document.title")
        browser.complaints      # errors and warnings of the console, exceptions, and requests for other addresses
"""
import base64
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--remote-debugging-pipe"]
PATIENCE = 120  # seconds; the machine may be busy


class Browser:
    def __init__(self, program):
        self.profile = tempfile.mkdtemp(prefix="lull-page-")
        to_browser, self.writer = os.pipe()
        self.reader, from_browser = os.pipe()
        # It reads commands from its file 3 and answers on its file 4.
        self.process = subprocess.Popen(
            ["sh", "-c", f'exec "$@" 3<&{to_browser} 4>&{from_browser}', "sh", program, *FLAGS,
             f"--user-data-dir={self.profile}", "about:blank"],
            pass_fds=(to_browser, from_browser), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self.received, self.number, self.session = b"", 0, None
        self.complaints, self.events, self.address = [], [], None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.writer)  # the browser ends by itself when nobody talks to it any more
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.reader)
        shutil.rmtree(self.profile, ignore_errors=True)

    def next_message(self, until):
        while b"\0" not in self.received:
            if not select.select([self.reader], [], [], max(0, until - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            data = os.read(self.reader, 1 << 20)
            if not data:
                raise EOFError("the browser has ended")
            self.received += data
        message, self.received = self.received.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session is not None:
            message["sessionId"] = self.session
        os.write(self.writer, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + PATIENCE
        while True:
            answer = self.next_message(until)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.note(answer)

    def note(self, event):
        method, details = event.get("method"), event.get("params", {})
        self.events.append(method)
        if method == "Runtime.exceptionThrown":
            self.complaints.append("exception: " + json.dumps(details["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and details["type"] in ("error", "warning", "assert"):
            self.complaints.append("console: " + json.dumps(details["args"]))
        elif method == "Log.entryAdded" and details["entry"]["level"] in ("error", "warning"):
            self.complaints.append("log: " + details["entry"]["text"])
        elif method == "Network.requestWillBeSent" and details["request"]["url"] != self.address:
            self.complaints.append("request: " + details["request"]["url"])

    def open(self, file, width, height, dark=False, scale=1):
        self.address = pathlib.Path(file).resolve().as_uri()
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale,
                  mobile=width < 600)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.events.clear()
        self.call("Page.navigate", url=self.address)
        until = time.monotonic() + PATIENCE
        while "Page.loadEventFired" not in self.events:
            self.note(self.next_message(until))

    def value(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def settle(self):
        """Until what has been asked for is drawn."""
        self.value("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def move_pointer(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        self.settle()

    def press(self, key):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key,
                      windowsVirtualKeyCode={"ArrowRight": 39, "ArrowLeft": 37, "Tab": 9, "Escape": 27}[key])
        self.settle()

    def screenshot(self, file, whole=True):
        picture = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        pathlib.Path(file).write_bytes(base64.b64decode(picture["data"]))
