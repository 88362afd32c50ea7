#!/usr/bin/env bash
# lull serve: destinations come and go, clients leave half-way, the configuration is read again, and all of it at once. What was accepted is
# kept, whenever the end comes.
. "$(dirname "$0")/serve.sh"

flaky shop
configure </dev/null
start
add steady "${at[shop]}/steady" '"types":["x"]'

# ---- destinations that come and go, with events on their way ----
python3 - "$LULL_SERVER" "${at[shop]}" >churn.out 2>&1 <<'END' &
import http.client, json, socket, sys, threading, urllib.parse
host = urllib.parse.urlsplit(sys.argv[1]).netloc
target = sys.argv[2]
unexpected = []

def client(number):
    connection = http.client.HTTPConnection(host, timeout=60)
    def ask(method, path, body, *expected):
        connection.request(method, path, body)
        answer = connection.getresponse()
        text = answer.read()
        if answer.status not in expected:
            unexpected.append((method, path, answer.status, text))
    for turn in range(15):
        name = f"d{number}-{turn % 3}"
        ask("POST", "/v1/destinations", json.dumps({"name": name, "url": f"{target}/{name}", "types": ["x"]}), 201)
        ask("POST", f"/v1/destinations/{name}/events", "one", 202)
        ask("POST", "/v1/events?type=x", "all", 202)
        ask("POST", "/v1/events:batch", (json.dumps({"destination": name, "payload": "many"}) + "\n") * 30, 202)
        ask("POST", f"/v1/destinations/{name}/pause", "", 200)
        ask("PATCH", f"/v1/destinations/{name}", '{"attempts":3}', 200)
        ask("POST", f"/v1/destinations/{name}/rotate-secret", "", 200)
        ask("POST", f"/v1/destinations/{name}/resume", "", 200)
        ask("GET", f"/v1/events?destination={name}", "", 200)
        ask("DELETE", f"/v1/destinations/{name}?force=true", "", 204)
        ask("GET", "/metrics", "", 200)
        ask("POST", f"/v1/destinations/{name}/events", "late", 404)

def leaver():
    for turn in range(60):
        peer = socket.create_connection(host.split(":"))
        peer.send(b"POST /v1/destinations/steady/events HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n"
                  + (b"gone" if turn % 2 == 0 else b"go"))
        peer.close()

threads = [threading.Thread(target=client, args=(number,)) for number in range(4)] + [threading.Thread(target=leaver)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(unexpected[:5] if unexpected else "as expected")
END
churn=$!
for _ in 1 2 3 4 5 6 7 8; do
    kill -HUP "$server"
    sleep 0.1
done
result "$churn"
is 'each answer was as expected' 'as expected' "$(<churn.out)"
is 'the others are gone' '["steady"]' "$(ask /v1/destinations '[.items[].name]|tojson')"
becomes 'the one that stayed gets all that is its own' 0 of steady '.backlog|.fresh+.retry+.dead'
is 'each once' true "$(seen shop '[.arrivals[]|select(.path == "/steady").webhook_id]|length == (unique|length) and length >= 60')"
is 'nothing is left of those that went' 0 "$(ask '/v1/events?state=pending' '.items|length')"

# ---- the end, while events come in ----
# flood NAME: what was accepted, an id a line, until nobody answers
flood() {
    python3 - "$LULL_SERVER" >"$1" <<'END' &
import http.client, json, sys, threading, urllib.parse
host = urllib.parse.urlsplit(sys.argv[1]).netloc
def producer():
    try:
        connection = http.client.HTTPConnection(host, timeout=60)
        while True:
            connection.request("POST", "/v1/destinations/steady/events", "x")
            answer = connection.getresponse()
            text = answer.read()
            if answer.status == 202:
                sys.stdout.write(json.loads(text)["id"] + "\n")
    except (OSError, http.client.HTTPException):
        pass
threads = [threading.Thread(target=producer) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
END
    flood=$!
}
# kept NAME: each of these is there, and is delivered
kept() {
    becomes "$1: all that was accepted is delivered" 0 of steady '.backlog|.fresh+.retry'
    seen shop '.arrivals[].webhook_id' | tr -d '"' | sort -u >arrived
    is "$1: none is lost" '' "$(sort "$1" | comm -23 - arrived | head -3)"
    is "$1: there were some" true "$([ "$(wc -l <"$1")" -gt 20 ] && echo true)"
}
flood killed
await eval '[ "$(of steady .accepted)" -gt 300 ]'
crash
result "$flood"
start
kept killed
flood ended
await eval '[ "$(of steady .accepted)" -gt 300 ]'
ended 'SIGTERM'
result "$flood"
start
kept ended
ended 'churn'
finish
