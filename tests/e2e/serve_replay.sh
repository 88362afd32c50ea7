#!/usr/bin/env bash
# lull serve: dead letters are replayed at a pace, through restarts, until they are done, cancelled, or it fails again.
. "$(dirname "$0")/serve.sh"

flaky shop --status 400
configure </dev/null
start
add shop "${at[shop]}" '"policy":"quick"'
batch shop 200
becomes 'two hundred dead letters' 200 of shop .backlog.dead
dead() {
    ask "/v1/dlq?limit=1000$1" '[.items[].event]|sort|tojson'
}
ids=$(dead '')
is 'all are listed' 200 "$(jq length <<<"$ids")"
is 'page by page, too' "$ids" "$(lull dlq list --all --json && jq -c '[.items[].event]|sort' <<<"$out")"
before=$(seen shop .next)
turn shop '{"status":null}'

# ---- at its pace ----
api POST /v1/dlq/replay -d '{"destination":"shop","rate":"1200/m"}'
is 'replay: status' '202 running' "$status $(jq -r .state <<<"$out")"
replay=$(jq -r .id <<<"$out")
is 'replay: how many, how fast' '200 1200/m' "$(jq -r '"\(.total) \(.rate)"' <<<"$out")"
api POST /v1/dlq/replay -d '{"destination":"shop"}'
is 'replay: one at a time' 409 "$status"
replayed() {
    ask "/v1/replays/$replay" "$1"
}
send shop '"fresh"'
becomes 'replay: what is fresh does not wait for it' delivered delivery "$id" .state
fresh=$id
is 'replay: it still runs' running "$(replayed .state)"

# ---- half-way, the power goes ----
await prints true replayed '.succeeded >= 60' || fail 'half-way' "$(replayed .)"
crash
start
is 'after a crash: it goes on' running "$(replayed .state)"
becomes 'after a crash: it ends' 'done 200 0' replayed '"\(.state) \(.succeeded) \(.failed)"'
is 'no dead letters are left' '0 []' "$(of shop .backlog.dead) $(dead '')"
arrivals=$(seen shop "[.arrivals[]|select(.number >= $before and .webhook_id != \"$fresh\")]")
is 'each arrived, with its id' "$ids" "$(jq -c '[.[].webhook_id]|unique' <<<"$arrivals")"
# What was under way when the power went may have come twice, and no more: ten at once, and what was not yet on disk.
is 'few arrived twice' true "$(jq 'length <= 240' <<<"$arrivals")"
is 'at its pace' true "$(jq '[.[].at_us/1000000|floor]|group_by(.)|map(length)|max <= 45' <<<"$arrivals")"
becomes 'with its history' '["400","200"]' ask "/v1/events/$(jq -r '.[0]' <<<"$ids")" '[.deliveries[0].trace[].status|tostring]|[first,last]|tojson'

# ---- it is cancelled ----
turn shop '{"status":400}'
batch shop 50
becomes 'fifty more' 50 of shop .backlog.dead
turn shop '{"status":null}'
api POST /v1/dlq/replay -d '{"destination":"shop","rate":"60/m"}'
replay=$(jq -r .id <<<"$out")
await prints true replayed '.succeeded >= 1' || fail 'it begins' "$(replayed .)"
api DELETE "/v1/replays/$replay"
is 'cancelled' '200 cancelled' "$status $(jq -r .state <<<"$out")"
left=$(of shop .backlog.dead)
is 'cancelled: the rest stays dead' true "$([ "$left" -gt 40 ] && echo true)"
becomes 'cancelled: the books balance' 50 eval 'echo $(($(of shop .backlog.dead) + $(replayed .succeeded)))'

# ---- a few of them ----
some=$(ask '/v1/dlq?limit=3' '[.items[].id]|tojson')
api POST /v1/dlq/replay -d "{\"destination\":\"shop\",\"ids\":$some,\"rate\":\"100/s\"}"
replay=$(jq -r .id <<<"$out")
is 'some: that many' '202 3' "$status $(jq .total <<<"$out")"
becomes 'some: done' 'done 3' replayed '"\(.state) \(.succeeded)"'
is 'some: these and no others' "$((left - 3))" "$(of shop .backlog.dead)"

# ---- it fails again ----
turn shop '{"status":400}'
lull dlq replay shop --rate 100/s --json
replay=$(jq -r .id <<<"$out")
becomes 'failing again: stopped' stopped replayed .state
becomes 'failing again: nothing is lost' "$((left - 3))" of shop .backlog.dead
is 'failing again: said' 1 "$(logged " warn replay_stopped destination=shop replay=$replay")"
is 'failing again: before all were tried' true "$(replayed '.moved < .total')"
is 'all replays are listed' 4 "$(ask /v1/replays '.items|length')"

ended 'replay'
finish
