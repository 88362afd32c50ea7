#!/usr/bin/env bash
# lull serve: /metrics, with traffic of all kinds. Prometheus can read it, and the books balance.
. "$(dirname "$0")/serve.sh"

flaky good
flaky shaky --fail 0.5
flaky bad --status 400
configure </dev/null
start
add good "${at[good]}" '"types":["x"]'
add shaky "${at[shaky]}" '"policy":"quick"'
add bad "${at[bad]}"
add paused "${at[good]}"
api POST /v1/destinations/paused/pause
batch good 100
batch shaky 100
batch bad 30
batch paused 20
becomes 'all that can end has ended' 0 ask /v1/destinations '[.items[]|select(.name != "paused").backlog|.fresh+.retry]|add'
api GET /metrics
is 'status' 200 "$status"
like 'content type' '^text/plain; version=0\.0\.4' "$(head_field Content-Type)"
page=$out
if command -v promtool >/dev/null; then
    code=0
    out=$(promtool check metrics <<<"$page" 2>&1) || code=$?
    is 'promtool check metrics: fine' '0 ' "$code $out"
    is 'promtool check rules' 0 "$(promtool check rules "$here/../../etc/alerts.yml" >/dev/null 2>&1 && echo $?)"
else
    skip 'promtool check metrics' 'promtool is not installed'
fi
# What alerts and the dashboard ask for is there; histograms by their parts.
families=$(sed -n 's/^# TYPE \([a-z_]*\) .*/\1/p' <<<"$page")
missing=$(grep -oh 'lull_[a-z_]*' "$here/../../etc/alerts.yml" "$here/../../etc/grafana-dashboard.json" | sed -E 's/_(bucket|sum|count)$//' | sort -u |
    grep -vxF "$families" | grep -vE '^lull_$')
is 'alerts and the dashboard ask for nothing else' '' "$missing"

# sum NAME DESTINATION: over all other labels
sum() {
    grep -F "$1{" <<<"$page" | grep -F "destination=\"$2\"" | awk '{ sum += $NF } END { print sum + 0 }'
}
# books NAME: accepted = delivered + pending + dead
books() {
    is "$1: accepted = delivered + pending + dead" "$(sum lull_events_accepted_total "$1")" \
        $(($(sum lull_events_delivered_total "$1") + $(sum lull_backlog "$1") + $(sum lull_dlq_size "$1")))
}
for name in good shaky bad paused; do books "$name"; done
is 'good: accepted, delivered' '100 100' "$(sum lull_events_accepted_total good) $(sum lull_events_delivered_total good)"
is 'bad: dead, all of them' '30 30' "$(sum lull_dlq_size bad) $(sum lull_dlq_arrivals_total bad)"
is 'paused: a backlog' 20 "$(sum lull_backlog paused)"
is 'paused: no attempt' 0 "$(sum lull_attempts_total paused)"
is 'attempts: as many as arrived' "100 30 $(seen shaky .next)" \
    "$(sum lull_attempts_total good) $(sum lull_attempts_total bad) $(sum lull_attempts_total shaky)"
is 'retries: the attempts but the first' "$(($(sum lull_attempts_total shaky) - 100))" "$(sum lull_retries_total shaky)"
is 'durations: one for each attempt' "$(sum lull_attempts_total shaky)" "$(sum lull_attempt_duration_seconds_count shaky)"
is 'workers and destinations' 4 "$(metric lull_destinations)"
api HEAD /metrics -I
is 'HEAD' 200 "$status"
ended 'metrics'
finish
