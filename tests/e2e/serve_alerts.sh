#!/usr/bin/env bash
# lull serve: what somebody should know is logged, counted, and told to a webhook.
. "$(dirname "$0")/serve.sh"

receiver ops
flaky wrong --status 400
flaky gone --status 410
flaky down --fail 1
configure <<END
alerts: {url: "${at[ops]}/alerts", secret: whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA}
END
start
add wrong "${at[wrong]}"
add gone "${at[gone]}"
add down "${at[down]}" '"attempts":100,"base":"10ms","cap":"50ms","budget":"none","breaker":{"open_time":"200ms","open_max":"200ms"}'

# told ALERT DESTINATION FILTER
told() {
    got ops "[.[].body_base64|@base64d|fromjson|select(.alert == \"$1\" and .destination == \"$2\")]|$3"
}
send wrong '{"a":1}'
becomes 'a dead letter: told' 1 told dead_letter wrong length
is 'a dead letter: which' "$(delivery "$id" .id) 1" "$(told dead_letter wrong '.[0]|"\(.delivery) \(.count)"')"
like 'a dead letter: why' '400' "$(told dead_letter wrong '.[0].detail')"
is 'a dead letter: logged' 1 "$(logged ' warn dead_letter destination=wrong ')"
batch wrong 50
becomes 'many dead letters' 51 of wrong .backlog.dead
is 'many dead letters: not told one by one' 1 "$(told dead_letter wrong length)"

send gone 1
becomes 'disabled: told' 1 told destination_disabled gone length
is 'disabled: logged' 1 "$(logged ' warn destination_disabled destination=gone ')"

batch down 20
becomes 'a circuit opens: told' true told breaker_opened down 'length >= 1'
turn down '{"fail":0}'
becomes 'a circuit closes: told' true told breaker_closed down 'length >= 1'
becomes 'and all is delivered' 20 of down .delivered
is 'a circuit: logged' true "$([ "$(logged ' warn breaker_opened destination=down ')" -ge 1 ] && [ "$(logged ' info breaker_closed destination=down ')" -ge 1 ] && echo true)"

is 'alerts are events like others: signed, with an id' true "$(got ops 'all(.[]; (.headers["webhook-signature"]|startswith("v1,")) and (.headers["webhook-id"]|startswith("evt_")) and .headers["content-type"] == "application/json")')"
is 'counted: disabled' 1 "$(metric 'lull_alerts_total{kind="disabled"}')"
is 'counted: dead letters, of two destinations' 2 "$(metric 'lull_alerts_total{kind="dead_letter"}')"
is 'the destination of alerts is nobody to send to' 404 "$(api POST /v1/destinations/_alerts/events -d 1 && echo "$status")"

# ---- only some of them; and one that cannot be reached does not tell of itself ----
sed -i 's/^alerts:.*/alerts: {url: "http:\/\/127.0.0.1:1\/", events: [disabled]}/' "$tmp/lull.yaml"
kill -HUP "$server"
becomes 'another configuration' 1 logged ' info reloaded '
before=$(got ops length)
api POST /v1/destinations/gone/resume
send gone 2
becomes 'disabled again' 2 logged ' warn destination_disabled destination=gone '
is 'the old address is told nothing' "$before" "$(got ops length)"
ended 'alerts'
finish
