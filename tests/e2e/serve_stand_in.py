#!/usr/bin/env python3
"""Plays docs/http.md with a little state, for the commands that talk to `lull serve`.

    serve_stand_in.py JOURNAL [TOKEN]

The first line on stdout says where it listens. Each request is a line of JSON in JOURNAL. Requests to /_stand_in set what
the next ones meet: {"fail": [503, 429]} answers so, in this order, and "drop" as one of them closes the connection after the
request was carried out.
"""
import base64
import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from urllib.parse import parse_qs, unquote, urlsplit

journal = open(sys.argv[1], "a", buffering=1, encoding="utf-8")
token = sys.argv[2] if len(sys.argv) > 2 else None
lock = Lock()
LONG_AGO = "2020-03-01T12:00:00.000Z"
destinations, events, keys, replays, ahead = {}, {}, {}, {}, []
TRACE = [
    {"number": 1, "began_at": LONG_AGO, "took_ms": 12.5, "outcome": "transient", "status": 503,
     "error": "upstream \x1b[31mdown", "excerpt": "<html>\nsorry\u202e\x7f"},
    {"number": 2, "began_at": LONG_AGO, "took_ms": 0, "outcome": "timeout", "status": None, "error": "no answer", "excerpt": None},
]
letters = {
    f"dlv_{i}": {"id": f"dlv_{i}", "event": f"evt_dead{i}", "destination": "shop", "type": "order.paid", "failures": 5,
                 "first_failed_at": LONG_AGO, "last_failed_at": LONG_AGO, "died_at": LONG_AGO,
                 "reason": "all attempts are spent", "error": "upstream \x1b[31mdown", "status": 503}
    for i in range(1, 6)
}


class Problem(Exception):
    def __init__(self, status, code, detail):
        super().__init__(detail)
        self.status, self.body = status, {"type": "about:blank", "title": "Problem", "status": status, "code": code, "detail": detail}


def page(items, query, extra_empty=False):
    """Cursors are offsets. One page in the middle is empty, as the contract allows."""
    at, limit = int(query.get("cursor", "0").strip("e")), int(query.get("limit", 100))
    if not 1 <= limit <= 1000:
        raise Problem(400, "bad_limit", "limit is 1 to 1000")
    if extra_empty and at > 0 and "e" not in query["cursor"]:
        return {"items": [], "next": f"{at}e"}
    rows = items[at:at + min(limit, 2 if extra_empty else limit)]
    end = at + len(rows)
    return {"items": rows, "next": str(end) if end < len(items) else None}


def destination(name):
    if name not in destinations:
        raise Problem(404, "unknown_destination", f"there is no destination {name}; GET /v1/destinations names those there are")
    return destinations[name]


def accept(kind, target, event_type, content_type, payload, key):
    if key is not None and key in keys:
        if keys[key][1] != payload:
            raise Problem(422, "key_reused", "the key was used for another event")
        return keys[key][0], True
    count = 1
    if kind == "destination":
        destination(target)
    else:
        count = sum(event_type in d.get("types", []) for d in destinations.values())
    name = f"evt_{len(events) + 1}"
    events[name] = {"id": name, "type": event_type, "content_type": content_type, "accepted_at": LONG_AGO,
                    "payload_bytes": len(payload), "polls": 0, "count": count, "target": target or "shop"}
    if key is not None:
        keys[key] = (name, payload)
    return name, False


def event_now(name):
    if name not in events:
        raise Problem(404, "unknown_event", f"there is no event {name}")
    event = events[name]
    event["polls"] += 1
    state = "pending" if event["polls"] < 2 or event["target"] == "slow" else "dead" if event["target"] == "grave" else "delivered"
    shown = {k: v for k, v in event.items() if k not in ("polls", "count", "target")}
    shown["deliveries"] = [{"id": "dlv_9", "destination": event["target"], "state": state, "attempts": 2, "at": LONG_AGO,
                            "reason": "all attempts are spent" if state == "dead" else None, "trace": TRACE}] * event["count"]
    return shown


def batch(body):
    lines = [json.loads(line) for line in body.decode().splitlines()]
    for number, line in enumerate(lines, 1):
        if line.get("destination") == "nowhere":
            raise Problem(400, "bad_line", f"line {number}: there is no destination nowhere")
    ids, errors = [], []
    for number, line in enumerate(lines, 1):
        try:
            ids.append(accept("batch", None, line.get("type"), "x", json.dumps(line["payload"]), line.get("key"))[0])
        except Problem as problem:
            ids.append(None)
            errors.append({"line": number, "code": problem.body["code"], "detail": problem.body["detail"]})
    return 202, {"accepted": len([i for i in ids if i]), "ids": ids, **({"errors": errors} if errors else {})}


def replay_now(replay):
    if replay["state"] == "running":
        replay["moved"] = min(replay["total"], replay["moved"] + 2)
        if replay["moved"] == replay["total"]:
            replay["state"] = "stopped" if replay["destination"] == "grave" else "done"
            replay["ended_at"] = LONG_AGO
    return replay


def on_destinations(method, words, query, body):
    if not words:
        if method == "GET":
            return 200, page(list(destinations.values()), query)
        made = json.loads(body)
        if made["name"] in destinations:
            raise Problem(409, "exists", f"there is a destination {made['name']} already")
        secret = made.pop("secret", "whsec_bWFkZQ==")
        destinations[made["name"]] = {
            **made, "state": "active", "source": "api", "signed": secret != "", "created_at": LONG_AGO,
            "backlog": {"fresh": 120, "retry": 3, "inflight": 10, "dead": 1}, "accepted": 5000, "delivered": 4876,
            "circuit": "half_open", "window": 10, "blocked_until": None, "blocked_by": None, "storm": False}
        return 201, {**destinations[made["name"]], "secret": secret}
    found = destination(words[0])
    if words[1:] in (["pause"], ["resume"]):
        found["state"] = "paused" if words[1] == "pause" else "active"
    elif words[1:] == ["rotate-secret"]:
        return 200, {"secret": "whsec_bmV3", "previous_valid_until": LONG_AGO}
    elif method == "PATCH":
        for key, value in json.loads(body).items():
            found[key] = value
            if value is None:
                del found[key]
    elif method == "DELETE":
        if query.get("force") != "true":
            raise Problem(409, "not_empty", "shop has 124 deliveries that are pending or dead")
        del destinations[words[0]]
        return 204, None
    return 200, found


def on_dlq(method, words, query, body):
    if words == ["replay"]:
        asked = json.loads(body)
        name = f"rpl_{len(replays) + 1}"
        replays[name] = {"id": name, "destination": asked["destination"], "state": "running", "rate": asked.get("rate", "100/m"),
                         "total": len(asked.get("ids", letters)), "moved": 0, "succeeded": 0, "failed": 0,
                         "created_at": LONG_AGO, "ended_at": None}
        return 202, replays[name]
    if not words:
        rows = [x for x in letters.values() if query.get("destination", x["destination"]) == x["destination"]]
        return 200, page(rows, query, extra_empty=True)
    if words[0] not in letters:
        raise Problem(404, "unknown_letter", f"there is no dead letter {words[0]}")
    if method == "DELETE":
        del letters[words[0]]
        return 204, None
    payload = {"payload_base64": base64.b64encode(b"\x00\xff\x1b[31m!").decode()} if words[0] == "dlv_2" \
        else {"payload": "{\"order\": 7}\n\u0000\u001b[2J"}
    return 200, {**letters[words[0]], "content_type": "application/json", "headers": {"X-Team": "a"}, "accepted_at": LONG_AGO,
                 **payload, "trace": TRACE}


def answer(handler, method, words, query, body):
    fields, path = handler.headers, "/".join(words[:2])
    if token is not None and fields["Authorization"] != f"Bearer {token}":
        raise Problem(401, "unauthorized", "this server wants a token")
    if path == "v1/destinations" and words[3:] == ["events"] or words == ["v1", "events"] and method == "POST":
        target = words[2] if len(words) > 2 else None
        name, replayed = accept("destination" if target else "type", target, query.get("type"), fields["Content-Type"],
                                body.decode("latin-1"), fields["Idempotency-Key"])
        handler.replayed = replayed
        return 202, {"id": name, "deliveries": events[name]["count"]}
    if path == "v1/events:batch":
        return batch(body)
    if path == "v1/destinations":
        return on_destinations(method, words[2:], query, body)
    if path == "v1/events" and len(words) == 3:
        return 200, event_now(words[2])
    if path == "v1/events":
        rows = [{"id": f"dlv_{i}", "event": f"evt_{i}", "destination": "shop", "type": "order.paid",
                 "state": query.get("state", "pending"), "attempts": 1, "at": LONG_AGO, "accepted_at": LONG_AGO,
                 "error": "no answer", "status": 503} for i in range(2500)]
        return 200, page(rows, query)
    if path == "v1/dlq":
        return on_dlq(method, words[2:], query, body)
    if path == "v1/replays" and len(words) == 2:
        return 200, page(list(replays.values()), query)
    if path == "v1/replays":
        if words[2] not in replays:
            raise Problem(404, "unknown_replay", f"there is no replay {words[2]}")
        if method == "DELETE":
            replays[words[2]]["state"] = "cancelled"
        return 200, replay_now(replays[words[2]])
    raise Problem(404, "unknown_path", "there is nothing here")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    replayed = False

    def reply(self, status, body, fields):
        data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def serve(self):
        url = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if url.path == "/_stand_in":
            ahead[:] = json.loads(body)["fail"]
            return self.reply(200, {}, {})
        with lock:
            journal.write(json.dumps({
                "method": self.command, "path": self.path, "body": body.decode("latin-1"),
                "fields": {name.lower(): value for name, value in self.headers.items()}}) + "\n")
            failure = ahead.pop(0) if ahead else None
            if isinstance(failure, int):
                return self.reply(failure, {"status": failure, "detail": "not now"}, {})
            if failure == "nonsense":
                return self.reply(200, b"<html>hello</html>", {})
            if failure == "later":
                return self.reply(503, {"detail": "not for an hour"}, {"Retry-After": "3600"})
            query = {name: values[0] for name, values in parse_qs(url.query).items()}
            words = [unquote(word) for word in url.path.split("/")[1:]]
            try:
                status, document = answer(self, self.command, words, query, body)
                kind = "application/json"
            except Problem as problem:
                status, document, kind = problem.status, problem.body, "application/problem+json"
            if failure == "drop":
                self.close_connection = True
                return None
            fields = {"Content-Type": kind, **({"Idempotency-Replayed": "true"} if self.replayed else {})}
            return self.reply(status, document, fields)

    do_GET = do_POST = do_PATCH = do_DELETE = serve

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
print(f"listening on http://127.0.0.1:{server.server_address[1]}", flush=True)
server.serve_forever()
