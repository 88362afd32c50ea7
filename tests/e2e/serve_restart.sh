#!/usr/bin/env bash
# lull serve: what was accepted survives the end of the program, however it comes.
. "$(dirname "$0")/serve.sh"

flaky shop --fail 1
configure </dev/null
start
add shop "${at[shop]}" '"attempts":1000,"base":"50ms","cap":"200ms","budget":"none","breaker":"none"'
batch shop 300
ids=$(jq -c '.ids|sort' <<<"$out")
send shop keyed -H 'Idempotency-Key: order-7' -H 'Content-Type: text/plain'
keyed=$id
api POST /v1/destinations/shop/events -d keyed -H 'Idempotency-Key: order-7' -H 'Content-Type: text/plain'
is 'the same key: the same event' "202 $keyed true" "$status $(jq -r .id <<<"$out") $(head_field Idempotency-Replayed)"
api POST /v1/destinations/shop/events -d other -H 'Idempotency-Key: order-7' -H 'Content-Type: text/plain'
is 'the same key for another: refused' '422 key_reused' "$status $(jq -r .code <<<"$out")"
printf '{"destination":"shop","payload":"keyed","content_type":"text/plain","key":"order-7"}\n{"destination":"shop","payload":"other","key":"order-7"}\n' >lines
api POST /v1/events:batch --data-binary @lines
is 'in a batch: the same, and refused' "202 [\"$keyed\",null] [[2,\"key_reused\"]]" "$status $(jq -c .ids <<<"$out") $(jq -c '[.errors[]|[.line,.code]]' <<<"$out")"
becomes 'attempts are made' true seen shop '.arrivals|length > 20'

# ---- SIGTERM, with a backlog ----
settle
is 'with a backlog: ends cleanly' 0 "$code"
start
is 'with a backlog: it is still there' 301 "$(of shop '.backlog|.fresh+.retry')"
api POST /v1/destinations/shop/events -d keyed -H 'Idempotency-Key: order-7' -H 'Content-Type: text/plain'
is 'a key is still known' "202 $keyed true" "$status $(jq -r .id <<<"$out") $(head_field Idempotency-Replayed)"
batch shop 100 301
ids=$(jq -c --argjson more "$(jq .ids <<<"$out")" '. + $more|sort' <<<"$ids")

# ---- SIGKILL, again and again, while it delivers ----
turn shop '{"fail":0,"latency":"20ms"}'
for _ in 1 2 3; do
    sleep 0.2
    crash
    is 'nothing but the log was said' '' "$(complaints)"
    start
done
becomes 'everything is delivered' 0 of shop '.backlog|.fresh+.retry'
is 'nothing is dead' 0 "$(of shop .backlog.dead)"
delivered=$(seen shop '[.arrivals[]|select(.outcome == "ok").webhook_id]')
is 'each arrived, by the id that it was accepted with' "$(jq -c ". + [\"$keyed\"]|sort" <<<"$ids")" "$(jq -c unique <<<"$delivered")"
is 'some arrived again, after a crash, but few' true "$(jq 'length < 401 + 3 * 60' <<<"$delivered")"
is 'and is so recorded' 401 "$(lull event list --state delivered --all --json && jq '.items|length' <<<"$out")"
settle
lull check -c lull.yaml --store "sqlite:$tmp/lull.db"
is 'the store is sound' 0 "$code"

# ---- what is not active stays so ----
start
add paused "${at[shop]}"
api POST /v1/destinations/paused/pause
send paused 1
crash
start
is 'paused after a crash' 'paused 1' "$(of paused '"\(.state) \(.backlog|.fresh + .retry)"')"
api POST /v1/destinations/paused/resume
becomes 'resumed' delivered delivery "$id" .state
crash
start
is 'resumed after a crash' active "$(of paused .state)"
ended 'restart'
finish
