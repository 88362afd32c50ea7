#!/usr/bin/env bash
# lull serve: after an outage, the destination gets no more than it can take. Judged by the times at which it saw requests arrive.
. "$(dirname "$0")/serve.sh"

# most NAME FROM: the most that arrived within any second, from the arrival of this number on
most() {
    curl -sS "${knob[$1]}/_flaky/arrivals?limit=100000&since=$2" | python3 -c '
import json, sys
times = sorted(arrival["at_us"] for arrival in json.load(sys.stdin)["arrivals"])
first = most = 0
for last, time in enumerate(times):
    while times[first] <= time - 1000000:
        first += 1
    most = max(most, last - first + 1)
print(most)'
}

# produce NAME SECONDS: 90 events a second, in the background, as $producer
produce() {
    python3 - "$LULL_SERVER/v1/events:batch" "$1" "$2" >produced 2>&1 <<'END' &
import json, sys, time, urllib.request
url, name, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
begin, sent = time.monotonic(), 0
while (now := time.monotonic() - begin) < seconds:
    due = int(90 * now) - sent
    if due > 0:
        line = json.dumps({"destination": name, "payload": sent}) + "\n"
        urllib.request.urlopen(url, (line * due).encode()).read()
        sent += due
    time.sleep(0.05)
print(sent)
END
    producer=$!
}

flaky shop --capacity 100 --queue 10000
configure <<END
destinations:
  - name: shop
    url: ${at[shop]}
    attempts: 50
    base: 100ms
    cap: 1s
    breaker: {open_time: 500ms, open_max: 1s, window: 5s, slices: 10}
END
start

# ---- nobody is there for a while ----
produce shop 6
becomes 'all is well' true of shop '.delivered > 50'
turn shop '{"outage":"0s+4s"}'
becomes 'an outage: the circuit opens' true eval 'of shop ".circuit != \"closed\""'
becomes 'an outage: a backlog' true of shop '.backlog|.fresh + .retry > 200'
before=$(seen shop .next)
becomes 'it is back: the circuit closes' closed of shop .circuit
openings=$(metric 'lull_breaker_transitions_total{destination="shop",to="open"}')
result "$producer"
is 'the producer never noticed' 0 "$code"
sent=$(<produced)
becomes 'it is back: every event is delivered' "$sent" of shop .delivered
is 'it is back: none is dead' 0 "$(of shop .backlog.dead)"
peak=$(most shop "$before")
if [ "$peak" -le 130 ]; then pass 'never more than it can take'; else fail 'never more than it can take' "$peak a second"; fi
is 'the circuit did not open again' "$openings" "$(metric 'lull_breaker_transitions_total{destination="shop",to="open"}')"
is 'each arrived once, after the outage' 1 "$(seen shop '[.arrivals[]|select(.outcome == "ok").webhook_id]|group_by(.)|map(length)|max')"

# ---- one that says when it is too much ----
flaky strict --rate 100/s --burst 50
add strict "${at[strict]}" '"attempts":50,"base":"100ms","cap":"1s"'
batch strict 150
becomes 'a limit: every event is delivered' 150 of strict .delivered
peak=$(most strict 0)
if [ "$peak" -le 150 ]; then pass 'a limit: not much more than it says'; else fail 'a limit: not much more than it says' "$peak a second"; fi
# Those that were under way already, ten at most, may still arrive.
is 'a limit: who is told to wait, waits' true "$(seen strict '.arrivals|[.[]|select(.status == 429).at_us] as $told|
    all($told[]; . as $at|[$told[]|select(. >= $at and . < $at + 900000)]|length <= 11)')"

ended 'gentle'
finish
