#!/usr/bin/env bash
# lull flaky: a bad flag is named, with its value and what would be right; nothing is served.
. "$(dirname "$0")/harness.sh"

for way in 'help flaky' 'flaky --help' 'flaky -h'; do
    # shellcheck disable=SC2086
    lull $way
    is "$way succeeds" 0 "$code"
    like "$way shows the flags" '--slow-body BYTES' "$out"
done

for default in 'default: 127.0.0.1:9000' 'default: 503, or 200' 'default: 100'; do
    like "the help tells the $default" "$default" "$out"
done

# bad MESSAGE FLAG...
bad() {
    local message=$1
    shift
    lull flaky --listen 127.0.0.1:0 --for 1ms "$@"
    is "$*: usage error" 2 "$code"
    is "$*: says what is wrong" "lull: $message" "$(head -1 <<<"$err")"
    is "$*: does not listen" '' "$out"
}

latency_forms='write 50ms, 50ms+-10ms, exponential:50ms, lognormal:50ms:p99=400ms or lognormal:50ms:sigma=0.8'
bad 'there is no flag --latencty; did you mean --latency?' --latencty 5
bad '--listen 9000: must be ADDR:PORT, as in 127.0.0.1:9000 or [::1]:9000' --listen 9000
bad '--control x: must be ADDR:PORT, as in 127.0.0.1:9000 or [::1]:9000' --control x
bad '--for 0s: must be longer than 0' --for 0s
bad '--for soon: not a duration; write 500ms, 2s, 5m, 1h or 1h30m' --for soon
bad "--latency fast: $latency_forms" --latency fast
bad '--latency 5ms+-6ms: the jitter is longer than the latency; no answer can come before its request' --latency 5ms+-6ms
bad '--latency lognormal:5ms:p99=4ms: the p99 is shorter than the median' --latency lognormal:5ms:p99=4ms
bad '--fail 2: must be a share of 0 to 1, as in 0.3' --fail 2
bad '--fail 30%: must be a share of 0 to 1, as in 0.3' --fail 30%
bad '--hang -1: must be a share of 0 to 1, as in 0.3' --hang -1
bad '--status 99: must be a status of 200 to 599' --status 99
bad '--slow-body fast: must be a size in bytes, as in 512, 64k or 1m' --slow-body fast
bad '--outage 10s: write FROM+LENGTH[:MODE], as in 10s+30s:hang' --outage 10s
bad '--outage 10s+x: not a duration; write FROM+LENGTH with 500ms, 2s, 5m, 1h or 1h30m' --outage 10s+x
bad '--outage 1s+1s:down: no such outage: down; there are refuse, hang, close, reset, truncate, garbage, error and slow' --outage 1s+1s:down
bad '--outage 1s+0s: an outage lasts longer than 0, and less than 70 years' --outage 1s+0s
bad 'the outages start over before the last one has ended' --outage 10s+5s --outage-every 12s
bad '--capacity many: must be a number, as in 0.5 or 200' --capacity many
bad '--queue 1.5: must be a whole number below 2^53' --queue 1.5
bad '--rate 5/d: must be a rate, as in 100/s, 1000/m or 5/h' --rate 5/d
bad '--retry-after-form iso: must be seconds or date' --retry-after-form iso
bad '--header nocolon: must be '\''Name: value'\' --header nocolon
bad '--header Content-Length: 5: this field is set by the server itself' --header 'Content-Length: 5'
bad 'fail, hang, close, reset, truncate and garbage add up to more than 1' --fail 0.6 --reset 0.6
bad '--echo takes no value' --echo=yes
bad 'flaky takes no arguments but flags: now' now
lull flaky --latency
is 'a value is missing' 'lull: --latency needs a value: --latency TIME' "$(head -1 <<<"$err")"

finish
