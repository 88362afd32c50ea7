#!/usr/bin/env bash
# lull flaky: each misbehaviour, as a real client sees it.
. "$(dirname "$0")/flaky.sh"

serve
change '{"status":503}'
fetch "$url"
is 'status: on all' '503 failed on purpose' "$status $out"
change '{"status":202}'
fetch "$url"
is 'status: may be a good one' '202 ok' "$status $out"
change '{"fail":1,"status":null}'
fetch "$url"
is 'fail: 503 unless told otherwise' 503 "$status"
change '{"fail":0,"status":500}'
fetch "$url"
is 'fail 0: none does' 200 "$status"

change '{"fail":null,"status":null,"close":1}'
fetch "$url"
is 'close: empty reply' 52 "$code"
fetch "$url" -d 'with a body'
is 'close: empty reply to a POST' 52 "$code"

change '{"close":0,"reset":1,"body":"1000"}'
fetch "$url"
is 'reset: curl sees one' 56 "$code"
like 'reset: curl says so' 'reset by peer' "$err"
is 'reset: the status was there' 200 "$status"
is 'reset: amid the answer' 500 "$(wc -c <<<"$out" | awk '{print $1}' | sed 's/^501$/500/')"
fetch -I "$url"
is 'reset: amid the head, if there is no body' 56 "$code"
change '{"body":""}'
fetch "$url"
is 'reset: of an empty body' 56 "$code"

change '{"reset":0,"truncate":1,"body":"1000"}'
fetch "$url"
is 'truncate: partial file' 18 "$code"
like 'truncate: half of it' '^0123456789ABC' "$out"

change '{"truncate":0,"garbage":1}'
fetch "$url"
like 'garbage: no HTTP' '^[18]$' "$code"
fetch --http0.9 "$url"
is 'garbage: but bytes' 0 "$code"

change '{"garbage":0,"hang":1}'
fetch --max-time 0.5 "$url"
is 'hang: no answer' 28 "$code"
await_state .hanging 0
is 'hang: counted' 1 "$(state .counters.hung)"
change '{"hang":0,"body":null}'

is 'and each is counted' '[2,3,1]' "$(state '.counters|[.closed,.reset,.truncated]')"
fetch "$url"
is 'afterwards all is well' '0 200' "$code $status"
ended 'misbehaviour'

# On a connection that is kept the good answers before are not harmed.
serve --seed 2 --reset 0.5
seen=$(curl -sS -o /dev/null -w '%{exitcode}:%{http_code} ' "$url/[1-12]" 2>/dev/null)
like 'some are reset' '56:200' "$seen"
like 'some are not' ' 0:200|^0:200' "$seen"
is 'and nothing else happens' '' "$(tr ' ' '\n' <<<"$seen" | grep -Ev '^(0|56):200$' | tr -d '\n')"
ended 'reset of some'

serve --latency 300ms
fetch -w '%{http_code} %{time_total}' "$url"
is 'latency: no earlier' 1 "$(awk '{print ($2 >= 0.3)}' <<<"$status")"
change '{"latency":"100ms+-50ms"}'
fetch -w '%{time_total}' "$url"
is 'latency: jittered' 1 "$(awk '{print ($1 >= 0.05)}' <<<"$status")"
for form in exponential:10ms lognormal:10ms:p99=50ms lognormal:10ms:sigma=0.5; do
    change "{\"latency\":\"$form\"}"
    fetch "$url"
    is "latency: $form" 200 "$status"
    is "latency: $form is shown" "\"$form\"" "$(state .settings.latency)"
done
ended 'latency'

serve --slow-body 2k --body 1k
fetch -w '%{size_download} %{time_total}' "$url"
is 'slow body: all of it comes' 1024 "${status% *}"
is 'slow body: no faster' 1 "$(awk '{print ($2 >= 0.4)}' <<<"$status")"
change '{"slow_body":1,"body":"abc"}'
fetch --max-time 0.5 "$url"
is 'slow body: in drops' '28 200 a' "$code $status $out"
ended 'slow body'

serve --body 3m --header 'X-One: 1' --header 'X-Two: a: b'
is 'body: a size' 3145728 "$(curl -sS "$url" | wc -c | tr -d ' ')"
fetch -I "$url"
is 'body: HEAD tells the size' 3145728 "$(head_field Content-Length)"
is 'header: one' 1 "$(head_field X-One)"
is 'header: another' 'a: b' "$(head_field X-Two)"
is 'header: a type by default' text/plain "$(head_field Content-Type)"
change '{"body":"{\"a\":1}","header":["Content-Type: application/json"]}'
fetch "$url"
is 'body: a text' '{"a":1}' "$out"
is 'header: a type of its own' application/json "$(head_field Content-Type)"
change '{"status":204,"body":null}'
fetch "$url"
is 'no content' '0 204 ' "$code $status $out"
ended 'body and header'

serve --redirect http://elsewhere.example/ --status 307
fetch "$url"
is 'redirect' '307 http://elsewhere.example/' "$status $(head_field Location)"
change '{"status":null}'
fetch "$url"
is 'redirect: 302 unless told otherwise' 302 "$status"
ended 'redirect'

serve --echo
fetch -X PUT -H 'X-Who: me' -d 'hello' "$url/a/b?c=d"
is 'echo' '["PUT","/a/b",{"c":"d"},"me","hello"]' "$(jq -c '[.method,.path,.query,.headers["X-Who"],.body]' <<<"$out")"
printf 'a\377b' >bytes
fetch --data-binary @bytes "$url"
is 'echo: bytes' '"61ff62"' "$(jq -c .body_hex <<<"$out")"
head -c 1100000 /dev/zero | tr '\0' x >large
fetch -H 'Expect: 100-continue' --data-binary @large "$url"
is 'echo: a body too large is cut' '[1048576,true]' "$(jq -c '[(.body|length),.body_cut]' <<<"$out")"
fetch -H 'Transfer-Encoding: chunked' --data-binary @bytes "$url"
is 'echo: chunked' '"61ff62"' "$(jq -c .body_hex <<<"$out")"
ended 'echo'

serve --fail 1 --retry-after 7
fetch "$url"
is 'Retry-After: as it is' 7 "$(head_field Retry-After)"
change '{"retry_after":"soon, maybe"}'
fetch "$url"
is 'Retry-After: malformed, too' 'soon, maybe' "$(head_field Retry-After)"
change '{"retry_after":"30","retry_after_form":"date"}'
fetch "$url"
retry=$(date -u -d "$(head_field Retry-After)" +%s) now=$(date -u -d "$(head_field Date)" +%s)
is 'Retry-After: a date, that far ahead' 1 "$((retry - now >= 29 && retry - now <= 31))"
change '{"fail":0}'
fetch "$url"
is 'Retry-After: not with a good answer' '' "$(head_field Retry-After)"
ended 'Retry-After'

# choices SEED
choices() {
    serve --fail 0.5 --seed "$1"
    curl -sS -o /dev/null -w '%{http_code} ' "$url/[1-40]"
    unserve
}
first=$(choices 7)
is 'seed: the same choices' "$first" "$(choices 7)"
like 'seed: both ways' '200 .*503|503 .*200' "$first"
if [ "$first" = "$(choices 8)" ]; then fail 'seed: another one, other choices'; else pass 'seed: another one, other choices'; fi

serve --fail 0.5
fetch -H 'X-Flaky: nonsense' "$url"
like 'override: not unless allowed' '200|503' "$status"
change '{"allow_override":true,"fail":1}'
fetch -H 'X-Flaky: status=418; body=short and stout' "$url"
is 'override: by header' '418 short and stout' "$status $out"
fetch "$url/?x-flaky=status%3D201%3B%20body%3Dit%20is"
is 'override: by query' '201 it is' "$status $out"
fetch -H 'X-Flaky: reset' "$url"
is 'override: a name is enough' 56 "$code"
fetch -H 'X-Flaky: latency=1ms' "$url"
is 'override: not left to chance' 200 "$status"
fetch -H 'X-Flaky: statsu=1' "$url"
is 'override: a mistake' '400 "statsu" "there is no field statsu; did you mean status?"' "$status $(jq -r '"\"\(.field)\" \"\(.detail)\""' <<<"$out")"
is 'override: a mistake is a problem' application/problem+json "$(head_field Content-Type)"
fetch -H 'X-Flaky: rate=1/s' "$url"
is 'override: not of the server' '400 rate' "$status $(jq -r .field <<<"$out")"
fetch "$url"
is 'override: the others are as before' 503 "$status"
ended 'override'

finish
