#!/usr/bin/env bash
# lull flaky: clients that leave at any moment, and many at once. Nothing is lost, nothing is left behind.
. "$(dirname "$0")/flaky.sh"

serve --allow-override
port=${url##*:}

# Requests that break off: in the head, in the body, before anything.
for part in '' 'G' 'GET / HT' $'GET / HTTP/1.1\r\nHost: x\r\n' $'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf'; do
    for _ in 1 2 3 4 5; do
        exec 3<>"/dev/tcp/127.0.0.1/$port"
        printf '%s' "$part" >&3
        exec 3<&- 3>&-
    done
done
await_state .counters.requests 0
fetch "$url"
is 'requests that break off do not count' 1 "$(state .counters.requests)"

# What is no HTTP at all.
exec 3<>"/dev/tcp/127.0.0.1/$port"
printf 'nonsense\r\n\r\n' >&3
code=0
timeout 60 cat <&3 >/dev/null || code=$?
exec 3<&- 3>&-
is 'no HTTP: the connection is closed' 0 "$code"

# Several requests in one go are answered one after the other, and the misbehaviour of one does not reach back.
exec 3<>"/dev/tcp/127.0.0.1/$port"
printf 'GET /?x-flaky=latency%%3D200ms HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\nX-Flaky: close\r\n\r\n' >&3
is 'pipelined' 1 "$(timeout 60 cat <&3 | grep -c '^HTTP/1.1 200')"
exec 3<&- 3>&-

# leave N SECONDS OVERRIDE: so many clients that give up after so long
leave() {
    local pids=''
    for _ in $(seq "$1"); do
        curl -sS --max-time "$2" -o /dev/null -H "X-Flaky: $3" "$url" 2>/dev/null &
        pids="$pids $!"
    done
    # shellcheck disable=SC2086
    wait $pids
}
fetch -X POST "$control/_flaky/reset"
# ends NAME OUTCOME: some have arrived, all have ended so, in the end
ends() {
    await_state .counters.in_flight 0
    is "$1" true "$(state ".counters|.requests > 0 and .requests == .$2")"
    fetch -X POST "$control/_flaky/reset"
}
leave 20 1 'hang'
ends 'hang: all are let go' hung
leave 20 0.5 'latency=1s'
ends 'latency: nobody was there for the answer' client_gone
leave 20 0.5 'slow-body=1k; body=1m'
ends 'slow body: broken off' client_gone
leave 10 0.01 'latency=10ms; reset; body=1m'
leave 10 0.01 'latency=10ms; garbage'
leave 10 0.01 'latency=10ms; truncate; body=1m'
leave 10 0.01 'latency=10ms; close'
await_state .counters.in_flight 0

change '{"workers":2,"latency":"100ms"}'
leave 10 0.3 'status=200'
await_state .counters.in_flight 0
is 'queue: nobody is left in line' '[0,0]' "$(state '[.queued,.serving]')"
change '{"workers":0,"latency":null}'
await_state .connections 1
pass 'no connection is left behind'
fetch "$url"
is 'and all is well' '0 200' "$code $status"
ended 'clients that leave'

# Hundreds that wait at the same time, in one thread.
serve --latency 2s
for _ in 1 2 3 4; do
    curl -sS --max-time 120 --parallel --parallel-max 100 --parallel-immediate -o /dev/null -w '%{http_code}\n' "$url/[1-100]" >>many 2>/dev/null &
done
await_state '.counters.in_flight > 0' true
is 'in one thread' 1 "$(find "/proc/$server/task" -mindepth 1 -maxdepth 1 | wc -l | tr -d ' ')"
await eval '[ "$(wc -l <many)" -eq 400 ]'
is 'all are answered' 400 "$(grep -c '^200$' many)"
ended 'many at once'

finish
