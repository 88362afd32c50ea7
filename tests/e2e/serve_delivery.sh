#!/usr/bin/env bash
# lull serve: what arrives at a destination, and what becomes of an event that does not.
. "$(dirname "$0")/serve.sh"

receiver hooks
flaky shaky
flaky elsewhere
configure </dev/null
start

# ---- what arrives ----
add plain "${at[hooks]}/plain?a=b" '"headers":{"X-Team":"payments"},"types":["order.*"]'
secret=$(jq -r .secret <<<"$out")
like 'a secret is made, and shown' '^whsec_[A-Za-z0-9+/=]{32,}$' "$secret"
is 'and never again' 0 "$(of plain . | grep -c whsec_)"
head -c 100000 /dev/urandom >binary
api POST '/v1/destinations/plain/events?type=order.paid' --data-binary @binary -H 'Content-Type: application/x-thing; v=1' \
    -H 'Content-Encoding: br' -H 'traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' -H 'X-Private: mine'
is 'accepted: status' 202 "$status"
id=$(jq -r .id <<<"$out")
like 'accepted: an id' '^evt_[0-9a-z]+$' "$id"
becomes 'delivered' 'delivered 1 1' delivery "$id" '"\(.state) \(.attempts) \(.trace|length)"'
is 'the body, unchanged' "$(base64 -w 0 binary)" "$(got hooks '.[0].body_base64')"
is 'the request' 'POST /plain?a=b' "$(got hooks '.[0]|"\(.method) \(.path)"')"
is 'its headers' "[\"application/x-thing; v=1\",\"br\",\"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\",\"payments\",\"1\",\"100000\"]" \
    "$(got hooks '.[0].headers|[.["content-type"],.["content-encoding"],.traceparent,.["x-team"],.["lull-attempt"],.["content-length"]]|tojson')"
is 'its id, twice' "$id $id" "$(got hooks '.[0].headers|"\(.["webhook-id"]) \(.["idempotency-key"])"')"
is 'the time of the attempt' true "$(got hooks '.[0].headers["webhook-timestamp"]|tonumber|. > now - 600 and . < now + 600')"
like 'a signature' '^v1,[A-Za-z0-9+/]{43}=$' "$(got hooks '.[0].headers["webhook-signature"]')"
is 'no headers but those that travel' null "$(got hooks '.[0].headers["x-private"]')"
is 'no header twice' '[]' "$(got hooks '.[0].repeated|tojson')"
api POST /v1/destinations/plain/events -d '' -H 'Content-Type:'
is 'an empty body: accepted' 202 "$status"
becomes 'an empty body: arrives' '2 ""' got hooks '"\(length) \(.[1].body_base64|tojson)"'
add unsigned "${at[hooks]}" '"secret":""'
send unsigned 1
becomes 'unsigned: arrives' 3 got hooks length
is 'unsigned: no signature' null "$(got hooks '.[2].headers["webhook-signature"]')"

# ---- fan out ----
add all "${at[hooks]}/all" '"types":["*"]'
add refunds "${at[hooks]}/refunds" '"types":["refund.created","order.paid"]'
api POST '/v1/events?type=order.paid' -d 1
is 'fan out: to all that subscribe' '202 3' "$status $(jq .deliveries <<<"$out")"
id=$(jq -r .id <<<"$out")
becomes 'fan out: delivered to each' '["all","plain","refunds"]' ask "/v1/events/$id" '[.deliveries[]|select(.state=="delivered").destination]|sort|tojson'
is 'fan out: the same id everywhere' "[\"$id\"]" "$(got hooks '[.[3:][].headers["webhook-id"]]|unique|tojson')"
api POST '/v1/events?type=order' -d 1
is 'fan out: order is no order.*' '202 1' "$status $(jq .deliveries <<<"$out")"

# ---- failures that pass ----
add shaky "${at[shaky]}/hook" '"policy":"quick"'
turn shaky '{"status":503,"body":"sorry, later"}'
turn shaky '{"fail":1}'
send shaky '{"n":1}'
becomes 'all attempts are spent' 'dead 3' delivery "$id" '"\(.state) \(.attempts)"'
is 'each arrived, with the same id' "[[\"1\",\"$id\"],[\"2\",\"$id\"],[\"3\",\"$id\"]]" "$(seen shaky '[.arrivals[]|[.attempt,.webhook_id]]')"
dead=$(delivery "$id" .id)
api GET "/v1/dlq/$dead"
is 'the dead letter: what and why' "[\"$dead\",\"$id\",\"shaky\",3,503,\"{\\\"n\\\":1}\"]" "$(jq -c '[.id,.event,.destination,.failures,.status,.payload]' <<<"$out")"
is 'the dead letter: every attempt' '[[1,503,"sorry, later"],[2,503,"sorry, later"],[3,503,"sorry, later"]]' "$(jq -c '[.trace[]|[.number,.status,.excerpt]]' <<<"$out")"
is 'the dead letter: when' true "$(jq '.first_failed_at <= .last_failed_at and .last_failed_at <= .died_at and .accepted_at <= .first_failed_at' <<<"$out")"
like 'the dead letter: the reason' 'attempts' "$(jq -r .reason <<<"$out")"
send plain keep -H 'Content-Type: text/plain'
api DELETE "/v1/dlq/$dead"
is 'dropped' 204 "$status"
api GET "/v1/dlq/$dead"
is 'and gone' '404 unknown_dead_letter' "$status $(jq -r .code <<<"$out")"
turn shaky '{"fail":0.5}'
batch shaky 50
becomes 'half of the attempts fail: every event ends' 0 of shaky '.backlog|.fresh+.retry'
is 'half of the attempts fail: none is lost' 50 "$(of shaky '.delivered + .backlog.dead')"
is 'half of the attempts fail: most are delivered' true "$(of shaky '.delivered > 25')"

# ---- failures that do not ----
add wrong "${at[hooks]}/404"
send wrong 1
becomes 'a permanent failure: dead at once' 'dead 1' delivery "$id" '"\(.state) \(.attempts)"'

# Redirects are answers, not places to go to.
flaky moved --redirect "${at[elsewhere]}/stolen"
add moved "${at[moved]}" '"policy":"quick"'
send moved secret
becomes 'a redirect: not delivered' dead delivery "$id" .state
is 'a redirect: not followed' '[]' "$(seen elsewhere .arrivals)"
is 'a redirect: what was answered' 302 "$(delivery "$id" '.trace[0].status')"

# ---- a destination that asks for time ----
flaky busy --fail 1 --retry-after 2
add busy "${at[busy]}" '"policy":"quick"'
send busy 1
await prints 1 seen busy '.arrivals|length'
first=$id
batch busy 5
becomes 'Retry-After: the lane waits' 'retry_after' of busy .blocked_by
turn busy '{"fail":0}'
becomes 'Retry-After: then all are delivered' 6 of busy .delivered
is 'Retry-After: none arrived before its time' true "$(seen busy '.arrivals|.[0].at_us as $first|all(.[1:][]; .at_us - $first >= 2000000)')"
is 'Retry-After: waiting costs no attempts' 'delivered 2' "$(delivery "$first" '"\(.state) \(.attempts)"')"

# ---- a destination that is gone ----
flaky gone --status 410
add gone "${at[gone]}"
send gone 1
becomes '410: disabled' disabled of gone .state
api POST /v1/destinations/gone/events -d 2
is '410: events are refused' 409 "$status"
turn gone '{"status":null}'
api POST /v1/destinations/gone/resume
is '410: resumed' '200 active' "$status $(jq -r .state <<<"$out")"
send gone 3
becomes '410: and delivered' delivered delivery "$id" .state

# ---- pause ----
api POST /v1/destinations/plain/pause
is 'pause' '200 paused' "$status $(jq -r .state <<<"$out")"
before=$(got hooks length)
send plain later
is 'pause: events are accepted, and wait' 'pending 0' "$(delivery "$id" '"\(.state) \(.attempts)"')"
send all now
becomes 'pause: of this one only' delivered delivery "$id" .state
is 'pause: nothing has arrived' "$((before + 1))" "$(got hooks length)"
api POST /v1/destinations/plain/resume
becomes 'resume: it is delivered' $((before + 2)) got hooks length

ended 'delivery'
finish
