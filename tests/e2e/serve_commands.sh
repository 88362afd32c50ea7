#!/usr/bin/env bash
# lull serve: whatever can be done by HTTP can be done by the command line, and shows the same.
. "$(dirname "$0")/serve.sh"

receiver hooks
flaky bad --status 400
configure <<END
auth: {tokens: [a-token-of-some-length]}
END
start
lull dest list
is 'without a token: exit code' 1 "$code"
like 'without a token: what to do' 'LULL_TOKEN' "$err"
export LULL_TOKEN=a-token-of-some-length
# The same by HTTP.
# get PATH FILTER
get() {
    curl -sS --max-time 60 -H "Authorization: Bearer $LULL_TOKEN" "$LULL_SERVER$1" | jq -cS "$2"
}

# ---- destinations ----
lull dest add shop "${at[hooks]}/shop" --type 'order.*' --set attempts=2 --set base=20ms --header 'X-Team: payments'
is 'dest add: exit code' 0 "$code"
like 'dest add: the secret' 'whsec_' "$out"
lull dest add bad "${at[bad]}" --unsigned --json
is 'dest add --json' 'bad false' "$(jq -r '"\(.name) \(.signed)"' <<<"$out")"
lull dest add shop "${at[hooks]}"
is 'dest add, again: exit code' 1 "$code"
lull dest list
is 'dest list: exit code' 0 "$code"
like 'dest list: each' 'shop .*active' "$out"
lull dest list --json
is 'dest list --json: as by HTTP' "$(get /v1/destinations '[.items[].name]')" "$(jq -cS '[.items[].name]' <<<"$out")"
lull dest show shop --json
is 'dest show --json: as by HTTP' "$(get /v1/destinations/shop .)" "$(jq -cS . <<<"$out")"
lull dest show shop
like 'dest show' "${at[hooks]}/shop" "$out"
lull dest set shop attempts=7 rate=50/s
is 'dest set' '0 [7,"50/s"]' "$code $(get /v1/destinations/shop '[.attempts,.rate]')"
lull dest set shop rate=
is 'dest set, taken back' '0 [7,null]' "$code $(get /v1/destinations/shop '[.attempts,.rate]')"
lull dest pause shop
is 'dest pause' '0 "paused"' "$code $(get /v1/destinations/shop .state)"
lull dest resume shop
is 'dest resume' '0 "active"' "$code $(get /v1/destinations/shop .state)"
lull dest rotate-secret shop --json
like 'dest rotate-secret' '^whsec_' "$(jq -r .secret <<<"$out")"

# ---- events ----
lull send shop -d '{"n":1}' --wait 60s
is 'send --wait: delivered' 0 "$code"
is 'send: arrives' '{"n":1} application/json payments' "$(got hooks '.[0]|"\(.body_base64|@base64d) \(.headers["content-type"]) \(.headers["x-team"])"')"
lull send --type order.paid -d text --key k1 --json
is 'send --type --json' '0 1' "$code $(jq .deliveries <<<"$out")"
event=$(jq -r .id <<<"$out")
lull send --type order.paid -d text --key k1 --json
is 'send, the same key' "$event" "$(jq -r .id <<<"$out")"
lull send --type order.paid -d other --key k1
is 'send, the key of another: exit code' 1 "$code"
head -c 5000 /dev/urandom >binary
lull send shop -f binary --wait 60s
is 'send -f: any bytes' "$(base64 -w 0 binary)" "$(got hooks '.[-1].body_base64')"
printf '{"destination":"shop","payload":{"n":%d}}\n' 1 2 3 >lines
lull send --batch lines --json
is 'send --batch' '0 3' "$code $(jq '.ids|length' <<<"$out")"
lull send nobody -d 1
is 'send to nobody: exit code' 1 "$code"
like 'send to nobody: why' 'there is no destination nobody' "$err"
lull send bad -d '"dead"' --wait 60s
is 'send --wait: dead' 1 "$code"
lull send bad -d '"dead too"' --wait 60s --json
lull event show "$event" --json
is 'event show --json: as by HTTP' "$(get "/v1/events/$event" .)" "$(jq -cS . <<<"$out")"
lull event show "$event"
like 'event show' 'order\.paid' "$out"
delivered() {
    get '/v1/events?destination=shop&state=delivered' '.items|length'
}
becomes 'all are delivered' 6 delivered
lull event list --destination shop --state delivered --json
is 'event list --json: as by HTTP' "$(get '/v1/events?destination=shop&state=delivered' '[.items[].id]')" "$(jq -cS '[.items[].id]' <<<"$out")"
lull event list --state dead
is 'event list: two lines and a head, or without' true "$([ "$(grep -c bad <<<"$out")" = 2 ] && echo true)"
lull event list --limit 2 --json
next=$(jq -r .next <<<"$out") first=$(jq -c '[.items[].id]' <<<"$out")
lull event list --limit 2 --cursor "$next" --json
is 'event list --cursor: goes on' '4 4' "$(jq -r --argjson first "$first" '$first + [.items[].id]|"\(length) \(unique|length)"' <<<"$out")"

# ---- dead letters ----
lull dlq list --json
is 'dlq list --json: as by HTTP' "$(get /v1/dlq .)" "$(jq -cS . <<<"$out")"
dead=$(jq -r '.items[0].id' <<<"$out") other=$(jq -r '.items[1].id' <<<"$out")
lull dlq list
like 'dlq list' "$dead" "$out"
lull dlq show "$dead" --json
is 'dlq show --json: as by HTTP' "$(get "/v1/dlq/$dead" .)" "$(jq -cS . <<<"$out")"
lull dlq show "$dead" --payload
like 'dlq show --payload' '^"dead( too)?"$' "$out"
lull dlq show "$dead"
like 'dlq show: the attempt' '400' "$out"
lull dlq drop "$other"
is 'dlq drop' '0 1' "$code $(get /v1/dlq '.items|length')"
turn bad '{"status":null}'
lull dlq replay bad --rate 10/s --watch --json
is 'dlq replay --watch' 0 "$code"
is 'dlq replay: nothing is left' 0 "$(get /v1/dlq '.items|length')"
lull dlq replays --json
is 'dlq replays: as by HTTP' "$(get /v1/replays .)" "$(jq -cS . <<<"$out")"
replay=$(jq -r '.items[0].id' <<<"$out")
lull dlq status "$replay" --json
is 'dlq status: as by HTTP' "$(get "/v1/replays/$replay" .)" "$(jq -cS . <<<"$out")"
turn bad '{"status":400}'
lull send bad -d 1 --wait 60s
lull send bad -d 2 --wait 60s
lull send bad -d 3 --wait 60s
turn bad '{"status":null}'
lull dlq replay bad --rate 1/m --json
replay=$(jq -r .id <<<"$out")
lull dlq cancel "$replay"
is 'dlq cancel' '0 "cancelled"' "$code $(get "/v1/replays/$replay" .state)"
lull dest rm bad
is 'dest rm, not empty: exit code' 1 "$code"
lull dest rm bad --force
is 'dest rm --force' '0 ["shop"]' "$code $(get /v1/destinations '[.items[].name]')"
lull dest rm shop
is 'dest rm' '0 []' "$code $(get /v1/destinations '[.items[].name]')"
ended 'commands'
finish
