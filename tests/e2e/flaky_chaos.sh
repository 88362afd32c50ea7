#!/usr/bin/env bash
# lull flaky: everything at once, while settings change and clients give up. In the end nothing is left behind, and the books balance.
. "$(dirname "$0")/flaky.sh"

serve --hang 0.02 --close 0.05 --reset 0.1 --truncate 0.05 --garbage 0.05 --fail 0.2 --latency exponential:5ms \
    --workers 20 --queue 10 --body 20k --seed 1
clients=''
for round in 1 2 3 4; do
    curl -sS --max-time 3 --parallel --parallel-max 30 -o /dev/null "$url/$round/[1-300]" >/dev/null 2>&1 &
    clients="$clients $!"
done
for mode in refuse hang close reset truncate garbage error slow; do
    change "{\"outage\":\"10ms+100ms:$mode\",\"workers\":20,\"slow_body\":null,\"rate\":\"500/s\"}"
    sleep 0.2
    change '{"workers":0,"slow_body":"50k","rate":null,"capacity":500,"echo":true}'
    sleep 0.1
    change '{"capacity":null,"echo":false}'
done
# shellcheck disable=SC2086
wait $clients
fetch -X PUT -d '{}' "$control/_flaky"
is 'all is well again' 200 "$status"
await_state .counters.in_flight 0
await_state '[.connections,.hanging,.queued,.serving]' '[1,0,0,0]'
pass 'nothing is left behind'
is 'there was something to do' true "$(state '.counters.requests > 100')"
is 'the books balance' true "$(state '.counters|.requests == ([to_entries[]|select(.key|. != "requests" and . != "in_flight")|.value]|add)')"
fetch "$url"
is 'and it serves' '0 200 ok' "$code $status $out"
ended 'chaos'

finish
