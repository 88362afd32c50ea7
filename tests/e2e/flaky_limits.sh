#!/usr/bin/env bash
# lull flaky: capacity, workers and their queue; the rate limit.
. "$(dirname "$0")/flaky.sh"

# One worker, kept busy by a request that hangs; two places to wait in.
serve --workers 1 --queue 2 --allow-override
curl -sS -H 'X-Flaky: hang' "$url" >/dev/null 2>&1 &
busy=$!
await_state .hanging 1
curl -sS --max-time 60 -o /dev/null -w '%{http_code}' "$url" >first &
clients=$!
await_state .queued 1
curl -sS --max-time 60 -o /dev/null -w '%{http_code}' "$url" >second &
clients="$clients $!"
await_state .queued 2
fetch "$url"
is 'over the queue: 503 at once' '503 too many are waiting' "$status $out"
is 'over the queue: counted' 1 "$(state .counters.queue_full)"
is 'the others wait' '[2,1]' "$(state '[.queued,.serving]')"
kill "$busy"
# shellcheck disable=SC2086
wait $clients
is 'and are served when the worker is free' '200 200' "$(<first) $(<second)"
wait "$busy" 2>/dev/null
await_state '[.queued,.serving]' '[0,0]'

# Nobody leaves the line by being cut off elsewhere.
curl -sS -H 'X-Flaky: hang' "$url" >/dev/null 2>&1 &
busy=$!
await_state .hanging 1
curl -sS "$url" >/dev/null 2>&1 &
await_state .queued 1
change '{"outage":"0s+1h"}'
await_state '[.queued,.serving,.hanging]' '[0,0,0]'
pass 'an outage empties the line'
change '{"outage":null}'
wait "$busy" 2>/dev/null
await eval 'fetch "$url"; [ "$status" = 200 ]' || fail 'it serves again' "$status"
pass 'and the worker is free again'
ended 'workers'

# 10 a second: six at once take half a second or longer, in order.
serve --capacity 10 --queue 100
for i in 1 2 3 4 5 6; do
    curl -sS --max-time 60 -o /dev/null -w '%{http_code} %{time_total}\n' "$url/$i" >>capacity &
done
await_state .counters.requests 6
await_state .counters.ok 6
await eval '[ "$(wc -l <capacity)" -eq 6 ]'
is 'capacity: all are served' 6 "$(grep -c '^200 ' capacity)"
first=$(arrivals '' '.arrivals[0].at_us')
ended_at=$(state .uptime_us)
is 'capacity: no faster' true "$(jq -n "$ended_at - $first >= 500000")"
change '{"capacity":0.01}'
fetch "$url"
curl -sS --max-time 60 -o /dev/null -w '%{http_code}' "$url" >waited &
client=$!
await_state .queued 1
change '{"capacity":null}'
result "$client"
is 'capacity: lifted, all may go' '0 200' "$code $(<waited)"
ended 'capacity'

serve --rate 2/h
fetch "$url"
is 'rate: within it' 200 "$status"
fetch "$url"
is 'rate: still' 200 "$status"
fetch "$url"
is 'rate: over it' '429 over the rate limit' "$status $out"
like 'rate: Retry-After in seconds' '^(1[0-7][0-9][0-9]|1800)$' "$(head_field Retry-After)"
is 'rate: counted' 1 "$(state .counters.rate_limited)"
change '{"retry_after_form":"date"}'
fetch "$url"
retry=$(date -u -d "$(head_field Retry-After)" +%s) now=$(date -u -d "$(head_field Date)" +%s)
is 'rate: Retry-After as a date' 1 "$((retry - now >= 1000 && retry - now <= 1801))"
change '{"retry_after":"never"}'
fetch "$url"
is 'rate: Retry-After of your own' never "$(head_field Retry-After)"
change '{"rate":null}'
fetch "$url"
is 'rate: lifted' 200 "$status"
change '{"rate":"1/h","burst":3}'
is 'rate: a burst' '200 200 200 429 ' "$(curl -sS -o /dev/null -w '%{http_code} ' "$url/[1-4]")"
fetch "$control/_flaky"
is 'rate: not on the control endpoint' 200 "$status"
ended 'rate'

finish
