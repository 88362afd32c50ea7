#!/usr/bin/env bash
# lull flaky: the control endpoint.
. "$(dirname "$0")/flaky.sh"

serve --fail 0.25 --latency 1ms --seed 5
fetch "$url/_flaky"
is 'state: JSON' application/json "$(head_field Content-Type)"
is 'state: settings' '[0.25,"1ms",5,100,null]' "$(jq -c '.settings|[.fail,.latency,.seed,.queue,.outage]' <<<"$out")"
is 'state: where it listens' "$url" "$(jq -r .address <<<"$out")"
is 'state: its own requests do not count' 0 "$(jq -r .counters.requests <<<"$out")"

# send METHOD JSON
send() {
    fetch -X "$1" -d "$2" "$control/_flaky"
}
send PATCH '{"fail":1,"slow_body":"2k"}'
is 'PATCH: answers with the state' '200 [1,2048,"1ms"]' "$status $(jq -c '.settings|[.fail,.slow_body,.latency]' <<<"$out")"
fetch "$url"
is 'PATCH: holds at once' 503 "$status"
send PUT '{"status":404,"seed":5}'
is 'PUT: everything else as by default' '200 [null,null,null,404]' "$status $(jq -c '.settings|[.fail,.slow_body,.latency,.status]' <<<"$out")"
all=$(state .settings)
send PUT "$all"
is 'PUT: takes what GET gives' "200 $all" "$status $(jq -c .settings <<<"$out")"

# bad JSON FIELD DETAIL
bad() {
    send PATCH "$1"
    is "$1" "400 $2 $3" "$status $(jq -r '"\(.field) \(.detail)"' <<<"$out")"
}
bad '{"fial":1}' fial 'there is no field fial; did you mean fail?'
bad '{"zzz":1}' zzz 'there is no field zzz'
bad '{"fail":2}' fail 'must be a share of 0 to 1, as in 0.3'
bad '{"latency":{}}' latency 'must not be an object'
bad '{"status":200,"header":["bad"]}' header "must be 'Name: value'"
bad '{"fail":0.6,"hang":0.6}' fail 'fail, hang, close, reset, truncate and garbage add up to more than 1'
bad '[]' null 'must be a JSON object'
bad '{"fail":' null 'no JSON: unexpected token near end of file, line 1, column 8'
bad '' null "no JSON: unexpected token near end of file, line 1, column 0"
is 'a problem says so' application/problem+json "$(head_field Content-Type)"
is 'and nothing was changed' "$all" "$(state .settings)"
head -c 1100000 /dev/zero | tr '\0' ' ' >large
fetch -X PATCH --data-binary @large "$control/_flaky"
is 'too large' 413 "$status"

fetch -X DELETE "$control/_flaky"
is 'another method' '405 GET, HEAD, PUT, PATCH' "$status $(head_field Allow)"
fetch "$control/_flaky/reset"
is 'reset wants a POST' '405 POST' "$status $(head_field Allow)"
fetch "$control/_flaky/nothing"
is 'another path' 404 "$status"
fetch "$control/"
is 'the control port serves nothing else' 404 "$status"
fetch "$url/_flakyness"
is 'a path that only begins like it' 404 "$status"
is 'is a request like others' '"/_flakyness"' "$(arrivals '' '.arrivals[-1].path')"
fetch -X POST "$control/_flaky/reset"
is 'reset' '200 [0,0]' "$status $(jq -c '.counters|[.requests,.failed]' <<<"$out")"
is 'reset: no arrivals either' '[]' "$(arrivals '' .arrivals)"
next=$(arrivals '' .next)

change '{"status":null,"fail":0}'
fetch -X POST -H 'Idempotency-Key: k-1' -H 'Lull-Attempt: 3' -H 'webhook-id: evt_9' -d x "$url/a?b=c"
before=$(date +%s%6N)
fetch "$url/b"
is 'arrivals: what came' "[\"POST\",\"/a\",200,\"ok\",\"k-1\",\"3\",\"evt_9\"]" \
    "$(arrivals "?since=$next" '.arrivals[0]|[.method,.path,.status,.outcome,.idempotency_key,.attempt,.webhook_id]')"
is 'arrivals: what was not there is not' '["GET","/b",null,null,null]' \
    "$(arrivals "?since=$next" '.arrivals[1]|[.method,.path,.idempotency_key,.attempt,.webhook_id]')"
is 'arrivals: in order of time' true "$(arrivals "?since=$next" '[.arrivals[].at_us]|. == sort')"
is 'arrivals: by the clock on the wall' true "$(arrivals "?since=$next" ".arrivals[1].wall_us|. >= $before - 2000000 and . < $before + 600000000")"
is 'arrivals: some at a time' "[$next,$((next + 1))]" "$(arrivals "?since=$next&limit=1" '[.arrivals[0].number,.next]')"
is 'arrivals: none yet' '[]' "$(arrivals "?since=$((next + 2))" .arrivals)"
is 'arrivals: none dropped' 0 "$(arrivals '' .dropped)"
fetch "$control/_flaky/arrivals?since=x"
is 'arrivals: not a number' '400 since' "$status $(jq -r .field <<<"$out")"

change '{"hang":1}'
fetch --max-time 0.3 "$url"
await_state .counters.hung 1
change '{"hang":0}'
for path in "$control/_flaky/metrics" "$url/_flaky/metrics" "$url/metrics"; do
    fetch "$path"
    like "metrics at ${path#http://*/}" '^lull_flaky_requests_total\{outcome="ok"\} 2$' "$out"
done
like 'metrics: type' '^text/plain; version=0.0.4' "$(head_field Content-Type)"
like 'metrics: outcomes' '^lull_flaky_requests_total\{outcome="hung"\} 1$' "$out"
like 'metrics: statuses' '^lull_flaky_responses_total\{status="200"\} 2$' "$out"
like 'metrics: durations' '^lull_flaky_request_duration_seconds_count 3$' "$out"
like 'metrics: in flight' '^lull_flaky_in_flight 0$' "$out"
like 'metrics: queue' '^lull_flaky_queued 0$' "$out"
is 'metrics: each name has its type' '' \
    "$(grep -v '^#' <<<"$out" | sed 's/[{ ].*//;s/_\(bucket\|sum\|count\)$//' | sort -u | while read -r name; do
        grep -q "^# TYPE $name " <<<"$out" || echo "$name"
    done)"
ended 'control'

finish
