#!/usr/bin/env bash
# lull run --json and --quiet.
. "$(dirname "$0")/harness.sh"
fast=(--base 1ms --cap 2ms)

lull run "${fast[@]}" --quiet --attempts 2 -- sh -c 'echo out; echo err >&2; exit 3'
is '--quiet: nothing but the command'\''s own words' $'err\nerr' "$err"
is '--quiet: output' $'out\nout' "$out"
is '--quiet: exit code' 3 "$code"
lull run -q -- sh -c 'exit 0'
is '-q: nothing' '' "$err"

lull run "${fast[@]}" --json --attempts 3 -- sh -c 'exit 7' 'quo"te' $'tab\there' $'bad\xffbyte' 'ünïcode'
is '--json: exit code' 7 "$code"
is '--json: a line per attempt and one at the end' 4 "$(grep -c '^{"lull":' <<<"$err")"
if command -v jq >/dev/null; then
    query() {
        jq -cs "$1" <<<"$err" 2>&1
    }
    is '--json: every line is JSON' 4 "$(query length)"
    is '--json: attempts are numbered' '[1,2,3]' "$(query '[.[:3][].attempt]')"
    is '--json: exit codes' '[7,7,7]' "$(query '[.[:3][].exit]')"
    is '--json: decisions' '["retry","retry","stop"]' "$(query '[.[:3][].decision]')"
    is '--json: delays' '["number","number","null"]' "$(query '[.[:3][].delay_ms|type]')"
    is '--json: classes' '["transient","transient","transient"]' "$(query '[.[:3][].class]')"
    is '--json: the end' '["end",3,7,"stop","retry","all attempts are spent"]' \
        "$(query '.[3]|[.lull,.attempts,.exit,.decision,.policy,.reason]')"
    is '--json: strings are escaped' '["sh","-c","exit 7","quo\"te","tab\there","bad�byte","ünïcode"]' "$(query '.[3].command')"
    lull run "${fast[@]}" --json --attempts 1 -- sh -c 'kill -KILL $$'
    is '--json: signals are named' '"SIGKILL"' "$(query '.[0].signal')"
    lull run "${fast[@]}" --json -- ./nothing
    is '--json: what cannot be run says why' '["No such file or directory",127,"permanent"]' "$(query '.[0]|[.error,.exit,.class]')"
    lull run "${fast[@]}" --json --attempts 1 --timeout 50ms --grace 0 -- sleep 1000
    is '--json: timeouts' '[true,124,"timeout"]' "$(query '.[0]|[.timed_out,.exit,.class]')"
else
    skip '--json: read back' 'no jq'
fi

# Nobody listens to stderr any more: the command is run all the same.
code=0
"$LULL" run "${fast[@]}" --attempts 3 -- sh -c 'echo x >>ran; exit 4' 2> >(exec true) || code=$?
is 'a closed stderr does not end it: exit code' 4 "$code"
is 'a closed stderr does not end it: attempts' 3 "$(wc -l <ran)"

finish
