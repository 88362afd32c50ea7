#!/usr/bin/env bash
# lull serve: a dead destination with a long backlog costs a healthy one nothing.
. "$(dirname "$0")/serve.sh"

flaky healthy
flaky dead
# Nobody listens where it was.
kill "${process[dead]}"
wait "${process[dead]}" 2>/dev/null
unset "process[dead]"
configure </dev/null
start
add dead "${at[dead]}" '"attempts":1000,"base":"10ms","cap":"100ms","budget":"none","breaker":{"open_time":"100ms","open_max":"100ms"}'
add healthy "${at[healthy]}"
for part in 0 1 2 3; do
    batch dead 5000 $((part * 5000 + 1))
done
becomes 'the dead one is tried' true of dead '.circuit != "closed" or .backlog.retry > 0'
for part in 1 2 3; do
    batch healthy 200 "$part"
    becomes "the healthy one: all are delivered ($part)" $((200 * part)) of healthy .delivered
done
is 'the dead one: nothing is lost' 20000 "$(of dead '.backlog|.fresh+.retry+.dead')"
is 'the healthy one: each arrived once' '600 600' "$(seen healthy '[.arrivals[].webhook_id]|"\(length) \(unique|length)"' | tr -d '"')"
send healthy last
becomes 'one more' delivered delivery "$id" .state
settle
is 'a backlog does not keep it from ending' 0 "$code"
start
is 'and is still there' 20000 "$(of dead '.backlog|.fresh+.retry+.dead')"
send healthy again
becomes 'one more, after a restart' delivered delivery "$id" .state
is 'pages of a backlog' '1000 true' "$(ask '/v1/events?destination=dead&state=pending&limit=1000' '"\(.items|length) \(.next != null)"')"
api DELETE '/v1/destinations/dead?force=true'
is 'removed with all that waits' 204 "$status"
is 'none of it is left' 0 "$(ask '/v1/events?state=pending' '.items|length')"
ended 'isolation'
finish
