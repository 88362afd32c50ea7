#!/usr/bin/env bash
# lull flaky: outages. Judged by the times at which the server itself saw requests arrive, so that a slow machine does not matter.
. "$(dirname "$0")/flaky.sh"

up() {
    fetch "$url"
    [ "$status" = 200 ]
}
refused() {
    fetch "$url"
    [ "$code" = 7 ]
}

serve --outage 1s+1s
await refused || fail 'it is refused' "curl: $code"
is 'refuse: the control endpoint is there' '"refuse"' "$(state .outage)"
await up || fail 'it comes back' "curl: $code"
pass 'refuse: for a while'
is 'refuse: no request arrived meanwhile' '[]' "$(arrivals '' '[.arrivals[].at_us|select(. >= 1000000 and . < 2000000)]')"
ended 'refuse'

serve
port=${url##*:}
exec 3<>"/dev/tcp/127.0.0.1/$port"
printf 'GET / HTTP/1.1\r\nHost: x\r\n\r\n' >&3
read -r -t 60 line <&3
like 'a connection is kept' '^HTTP/1.1 200' "$line"
change '{"latency":"1h"}'
curl -sS --max-time 60 "$url" >/dev/null 2>&1 &
client=$!
await_state .counters.in_flight 1
before=$(state .connections)
change '{"outage":"0s+1h"}'
result "$client"
is 'refuse: who waits for an answer is reset' 56 "$code"
await_state .connections "$((before - 2))"
pass 'refuse: connections that are kept are reset'
exec 3<&- 3>&-
is 'refuse: counted as cut' 1 "$(state .counters.cut)"
fetch "$url"
is 'refuse: new ones are refused' 7 "$code"
change '{"latency":null,"outage":null}'
await up || fail 'it comes back' "curl: $code"
pass 'refuse: until it is called off'
for _ in 1 2 3 4 5; do
    change '{"outage":"0s+1h"}'
    await refused || fail 'refuse: again' "curl: $code"
    change '{"outage":null}'
    await up || fail 'refuse: back again' "curl: $code"
done
pass 'refuse: again and again'
fetch -X PATCH -d '{"outage":"0s+1h"}' "$url/_flaky"
is 'refuse: whoever starts it gets an answer first' '0 200' "$code $status"
await refused || fail 'refuse: started from the same port' "curl: $code"
ended 'refuse, changed'

serve --outage 0s+1h:hang
curl -sS --max-time 60 -o /dev/null -w '%{http_code}' "$url" >answer 2>&1 &
client=$!
await_state .hanging 1
change '{"outage":null}'
result "$client"
is 'hang: answered when it is over' '0 200' "$code $(<answer)"
change '{"outage":"0s+1h:hang"}'
fetch --max-time 0.5 "$url"
is 'hang: not before' 28 "$code"
await_state .hanging 0
change '{"outage":"0s+500ms:hang"}'
fetch "$url"
is 'hang: ends by itself' '0 200' "$code $status"
ended 'hang'

# mode EXIT_CODE STATUS
mode() {
    change "{\"outage\":\"0s+1h:$1\"}"
    fetch "$url"
    is "$1" "$2" "$code $status"
    fetch "$url/_flaky"
    is "$1: not on the control endpoint" '0 200' "$code $status"
}
serve --body 1000
mode close '52 000'
mode reset '56 200'
mode truncate '18 200'
mode garbage '1 000'
mode error '0 503'
change '{"outage":"0s+1h:slow"}'
fetch --max-time 0.5 "$url"
is 'slow' '28 200' "$code $status"
change '{"outage":"0s+1h:error","status":500,"latency":"1h"}'
fetch "$url"
is 'error: at once, and of any kind' '0 500' "$code $status"
ended 'modes'

# While it lasts: every 600 ms, from 200 to 400 ms, all fail; before and after, none.
serve --outage 200ms+200ms:error --outage-every 600ms
for _ in $(seq 200); do
    curl -sS -o /dev/null "$url/[1-20]"
    seen=$(arrivals '' '[.arrivals[]|[(.at_us/600000|floor),.status]]|[(map(select(.[1] == 503)|.[0])|unique|length), (map(select(.[1] == 200)|.[0])|unique|length)]|map(. >= 3)|all')
    [ "$seen" != true ] || break
done
is 'every: three times down, three times up' true "$seen"
is 'every: down just then' '[]' \
    "$(arrivals '' '[.arrivals[]|select((.at_us % 600000 >= 200000 and .at_us % 600000 < 400000) != (.status == 503))]')"
ended 'every'

serve --outage 0s+100ms:error,400ms+100ms:error --outage 800ms+100ms:error
await eval 'curl -sS -o /dev/null "$url/[1-20]" && [ "$(arrivals "" "[.arrivals[]|select(.at_us > 1000000)]|length > 0")" = true ]' ||
    fail 'several: a second passes'
is 'several' '[]' \
    "$(arrivals '' '[.arrivals[]|select((.at_us < 1000000 and .at_us % 400000 < 100000) != (.status == 503))]')"
ended 'several'

finish
