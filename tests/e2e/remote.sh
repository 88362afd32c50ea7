#!/usr/bin/env bash
# lull send, dest, event and dlq against a stand-in for lull serve: what they ask for, what they show, what they exit with.
here=$(cd "$(dirname "$0")" && pwd)
. "$(dirname "$0")/harness.sh"
export LC_ALL=C.UTF-8
unset LULL_SERVER LULL_TOKEN NO_COLOR http_proxy HTTP_PROXY
for tool in python3 jq; do
    command -v "$tool" >/dev/null || { fail "there is $tool" && finish || exit 1; }
done
servers=()
cleanup() {
    # Waited for, so that the shell does not tell of their end.
    [ ${#servers[@]} -eq 0 ] || { kill -KILL "${servers[@]}" && wait "${servers[@]}"; } 2>/dev/null
    rm -rf "$tmp"
}

# stand_in NAME [TOKEN]: its address in $url
stand_in() {
    python3 "$here/serve_stand_in.py" "$tmp/$1.journal" "${@:2}" >"$tmp/$1.out" 2>"$tmp/$1.err" </dev/null &
    servers+=($!)
    await grep -q '^listening on ' "$tmp/$1.out" || fail "the stand-in $1" "$(cat "$tmp/$1.err")"
    url=$(sed -n 's/^listening on //p' "$tmp/$1.out")
}

# asked FILTER: of the last request, by jq
asked() {
    tail -n 1 "$tmp/open.journal" | jq -r "$1"
}

# coming FAILURE...: what the next requests meet
coming() {
    python3 - "$LULL_SERVER/_stand_in" "$(jq -cn '{fail: $ARGS.positional | map(tonumber? // .)}' --args "$@")" <<'END'
import sys, urllib.request
urllib.request.build_opener(urllib.request.ProxyHandler({})).open(sys.argv[1], sys.argv[2].encode())
END
}

# How many requests have arrived.
requests() {
    wc -l <"$tmp/open.journal"
}

# no_controls NAME TEXT: none but line ends and tabs
no_controls() {
    if LC_ALL=C grep -q $'[\001-\010\013-\037\177]' <<<"$2"; then fail "$1"; else pass "$1"; fi
}

# ---- where the server is ----
lull dest list --server http://127.0.0.1:1
is 'nobody there: exit code' 1 "$code"
is 'nobody there: what to do' \
    'lull: cannot reach http://127.0.0.1:1: connection refused; is lull serve running? (--server or LULL_SERVER says where)' "$err"
is 'nobody there: nothing on stdout' '' "$out"
for address in ftp://localhost 'http://' 'http://localhost/?a' 'http://me@localhost'; do
    lull dest list --server "$address"
    is "no address, $address: exit code" 2 "$code"
    like "no address, $address: why" 'is not the address of a server; write it as http://127.0.0.1:8080' "$err"
done
stand_in closed s3cret
lull dest list --server "$url"
is 'no token: exit code' 1 "$code"
is 'no token: what to do' 'lull: this server wants a token; give --token TOKEN, or set LULL_TOKEN' "$err"
lull dest list --server "$url" --token wrong
is 'another token: what to do' 'lull: this server wants a token; give another --token or LULL_TOKEN' "$err"
lull dest list --server "$url/" --token s3cret --json
is '--token' '{"items":[],"next":null}' "$out"
LULL_TOKEN=s3cret LULL_SERVER=${url#http://} lull dest --json list
is 'by the environment, without http://' '{"items":[],"next":null}' "$out"
LULL_TOKEN='s3cret
X: y' lull dest list --server "$url"
is 'a token of two lines: exit code' 2 "$code"
http_proxy=http://127.0.0.1:1 lull dest list --server "$url" --token s3cret
is 'no proxy for this machine' 0 "$code"
stand_in open
export LULL_SERVER=$url

# ---- dest ----
lull dest list
is 'dest list, none: exit code' 0 "$code"
is 'dest list, none: silent in a pipe' '' "$out$err"
lull dest add shop https://shop.example/hooks --type 'order.*' -t refund.created --policy webhook --set attempts=8 --set base=30s \
    --set 'breaker={"window": "30s"}' --header 'X-Team: payments'
is 'dest add: exit code' 0 "$code"
is 'dest add: name and secret' $'shop added\nsecret whsec_bWFkZQ==' "$out"
is 'dest add: what is sent' \
    '{"name":"shop","url":"https://shop.example/hooks","types":["order.*","refund.created"],"policy":"webhook","attempts":8,"base":"30s","breaker":{"window":"30s"},"headers":{"X-Team":"payments"}}' \
    "$(asked .body)"
is 'dest add: as JSON' application/json "$(asked '.fields["content-type"]')"
lull dest add grave http://grave.example/ --unsigned --type order.paid
is 'dest add --unsigned' '{"name":"grave","url":"http://grave.example/","secret":"","types":["order.paid"]}' "$(asked .body)"
is 'dest add --unsigned: no secret' 'grave added' "$out"
lull dest add slow http://slow.example/ --secret whsec_YQ== --json
is 'dest add --json' '["slow","whsec_YQ=="]' "$(jq -c '[.name,.secret]' <<<"$out")"
lull dest add shop http://x.example/
is 'dest add, there already: exit code' 1 "$code"
is 'dest add, there already: the detail' 'lull: there is a destination shop already' "$err"
lull dest list
is 'dest list' 'NAME   STATE   CIRCUIT    FRESH  RETRY  IN FLIGHT  DEAD  STORM  URL
shop   active  half open    120      3         10     1  no     https://shop.example/hooks
grave  active  half open    120      3         10     1  no     http://grave.example/
slow   active  half open    120      3         10     1  no     http://slow.example/' "$out"
lull dest show shop
like 'dest show: settings' '^attempts +8$' "$out"
like 'dest show: lists' '^types +order\.\*, refund\.created$' "$out"
like 'dest show: what waits' '^backlog +fresh 120, retry 3, inflight 10, dead 1$' "$out"
like 'dest show: when' '^created +2020-03-01 12:00:00 UTC, [0-9]+ d ago$' "$out"
lull dest show shop --json
is 'dest show --json' '["shop",8,null]' "$(jq -c '[.name,.attempts,.blocked_until]' <<<"$out")"
lull dest set shop attempts= rate=50/s concurrency=4 types=a,b 'headers={"A":"b"}' policy=7
is 'dest set: exit code' 0 "$code"
is 'dest set: a PATCH' PATCH "$(asked .method)"
is 'dest set: what is sent' \
    '{"attempts":null,"rate":"50/s","concurrency":4,"types":["a","b"],"headers":{"A":"b"},"policy":"7"}' "$(asked .body)"
lull dest pause shop
is 'dest pause' 'shop paused' "$out"
lull dest list --json
is 'dest pause: it is' paused "$(jq -r '.items[0].state' <<<"$out")"
lull dest resume shop --json
is 'dest resume' active "$(jq -r .state <<<"$out")"
lull dest rotate-secret shop
like 'dest rotate-secret' '^secret whsec_bmV3$' "$out"
like 'dest rotate-secret: until when' '^previous valid until +2020-03-01 12:00:00 UTC' "$out"
lull dest rm slow
is 'dest rm, not empty: exit code' 1 "$code"
like 'dest rm, not empty: what to do' 'pending or dead \(--force drops them\)$' "$err"
lull dest rm slow --force --json
is 'dest rm --force' '{"removed":["slow"]}' "$out"
lull dest show slow
is 'gone: exit code' 1 "$code"
is 'gone: the detail' 'lull: there is no destination slow; lull dest list names those there are' "$err"
lull dest show '../a b?%'
is 'any name is one segment' '/v1/destinations/..%2Fa%20b%3F%25' "$(asked .path)"
lull dest show ..
is 'even this one' '/v1/destinations/..' "$(asked .path)"
"$LULL" dest add slow http://slow.example/ >/dev/null

# ---- send ----
lull send shop -d '{"order": 7}'
is 'send: exit code' 0 "$code"
like 'send: the id, and only that' '^evt_[0-9]+$' "$out"
is 'send: where to' 'POST /v1/destinations/shop/events' "$(asked '"\(.method) \(.path)"')"
is 'send: the payload as it is' '{"order": 7}' "$(asked .body)"
is 'send: JSON is' application/json "$(asked '.fields["content-type"]')"
first=$(asked '.fields["idempotency-key"]')
like 'send: a key of its own' '^lull-[0-9a-f]{32}$' "$first"
lull send shop -d 'plain text' --type order.paid
is 'send: text is' text/plain "$(asked '.fields["content-type"]')"
is 'send: a destination and a type' '/v1/destinations/shop/events?type=order.paid' "$(asked .path)"
is 'send: another key each time' different "$([ "$first" = "$(asked '.fields["idempotency-key"]')" ] || echo different)"
printf 'a\0b\377' >bytes
lull send shop -f bytes
is 'send: bytes are' application/octet-stream "$(asked '.fields["content-type"]')"
is 'send -f: all of it' 4 "$(asked '.body|length')"
printf '12345678901234567890123' >number
lull send shop -f number
is 'send: a long number is JSON' application/json "$(asked '.fields["content-type"]')"
lull send shop -d '<a/>' --content-type text/xml --header 'traceparent: 00-1'
is 'send --content-type' text/xml "$(asked '.fields["content-type"]')"
is 'send --header' 00-1 "$(asked .fields.traceparent)"
lull send shop -d ''
is 'send: an empty payload' '0 0' "$(asked '"\(.body|length) \(.fields["content-length"])"')"
code=0
out=$(echo '[1]' | "$LULL" send shop) || code=$?
is 'send: from stdin' '[1]' "$(asked .body)"
echo '[2]' | "$LULL" send shop -f - >/dev/null
is 'send -f -' '[2]' "$(asked .body)"
head -c 3000000 /dev/zero | tr '\0' x >large
lull send shop -f large
is 'send: a large payload' 3000000 "$(asked '.body|length')"
lull send --type order.paid -d 1 --json
is 'send --type --json' '["string",1]' "$(jq -c '[(.id|type),.deliveries]' <<<"$out")"
lull send --type nobody.cares -d 1
is 'send to nobody: exit code' 0 "$code"
is 'send to nobody: says so' 'lull: no destination subscribes to nobody.cares; it is delivered to none' "$err"
lull send shop -d 1 -k K-1
id=$out
lull send shop -d 1 -k K-1
is 'send -k: the same id' "$id" "$out"
like 'send -k: says so' 'accepted before' "$err"
lull send shop -d 2 -k K-1
is 'send -k for another: exit code' 1 "$code"
is 'send -k for another: why' 'lull: the key was used for another event' "$err"
lull send shop -f nowhere
is 'send -f of nothing: exit code' 1 "$code"
is 'send -f of nothing: why' 'lull: cannot read nowhere: No such file or directory' "$err"
lull send nowhere -d 1
is 'send to the unknown: exit code' 1 "$code"

lull send shop -d 1 --wait
is 'send --wait: delivered' 0 "$code"
lull send shop --wait 1h -d 1 --json
is 'send --wait --json: the event' delivered "$(jq -r '.deliveries[0].state' <<<"$out")"
lull send grave -d 1 --wait=1h
is 'send --wait: dead: exit code' 1 "$code"
is 'send --wait: dead: why' 'lull: dead at grave after 2 attempts: all attempts are spent; last: no answer' "$err"
lull send --wait 300ms slow -d 1
is 'send --wait: late: exit code' 1 "$code"
like 'send --wait: late: says so' "^lull: still pending after 300ms; lull event show $out tells" "$err"

# ---- retries ----
before=$(requests)
coming 503 429
lull send shop -d 1
is 'send: retried' 0 "$code"
is 'send: three attempts' 3 $(($(requests) - before))
is 'send: with one key' 1 "$(tail -n 3 open.journal | jq -r '.fields["idempotency-key"]' | sort -u | wc -l)"
before=$(requests)
coming drop
lull send shop -d only-once
is 'send: no answer: asked again' 2 $(($(requests) - before))
is 'send: no answer: no second event' 0 "$code"
coming 503
lull dest list --json
is 'a GET is retried' 0 "$code"
before=$(requests)
coming 503 503
lull dest pause shop
is 'what is not safe is not: exit code' 1 "$code"
is 'what is not safe is not: one attempt' 1 $(($(requests) - before))
is 'what is not safe is not: why' 'lull: not now' "$err"
before=$(requests)
coming 503 503 503 503 503 503
lull event show evt_1
is 'five attempts: exit code' 1 "$code"
is 'five attempts: no more' 5 $(($(requests) - before))
is 'five attempts: says so' 'lull: not now (5 attempts)' "$err"
before=$(requests)
coming 503 503
LULL_ATTEMPT=1 lull event show evt_1
is 'inside lull run: one attempt' 1 $(($(requests) - before))
coming later
lull dest list
is 'a Retry-After past the time there is: exit code' 1 "$code"
is 'a Retry-After past the time there is: not waited for' 'lull: not for an hour' "$err"
coming nonsense
lull dest list
is 'not a lull serve: exit code' 1 "$code"
like 'not a lull serve: says so' 'answered 200, but not with JSON; is it a lull serve\?$' "$err"
coming

# ---- batches ----
cat >events.ndjson <<'END'
{"destination":"shop","payload":{"n": 1.50}}

 {"type":"order.paid","payload":"text","key":"mine"}
END
before=$(requests)
lull send --batch events.ndjson
is 'batch: exit code' 0 "$code"
is 'batch: how many' '2 accepted' "$out"
is 'batch: one request' 1 $(($(requests) - before))
like 'batch: a key for what has none' '^\{"key":"lull-[0-9a-f]{32}-1","destination":"shop","payload":\{"n": 1\.50\}\}$' "$(asked .body)"
like 'batch: others stay as they are' '^ \{"type":"order.paid","payload":"text","key":"mine"\}$' "$(asked .body)"
lull send --batch events.ndjson -k again --json
first=$(jq -c .ids <<<"$out")
code=0
out=$("$LULL" send --batch - -k again --json <events.ndjson) || code=$?
is 'batch -k: sent again, the same ids' "$first" "$(jq -c .ids <<<"$out")"
is 'batch --json' '{"ids":2,"accepted":2,"errors":[]}' "$(jq -c '.ids|=length' <<<"$out")"
before=$(requests)
coming drop
lull send --batch events.ndjson
is 'batch: no answer: sent again' '0 2' "$code $(($(requests) - before))"
seq 25000 | sed 's/.*/{"destination":"shop","payload":&}/' >many.ndjson
before=$(requests)
lull send --batch many.ndjson
is 'batch: many lines' '25000 accepted' "$out"
is 'batch: in slices' '10000 10000 5000' "$(tail -n 3 open.journal | jq -r '.body|split("\n")|length-1' | xargs)"
is 'batch: in order' '{"destination":"shop","payload":25000}' "$(asked '.body|split("\n")[-2]|sub("\"key\":[^,]*,";"")')"
for _ in {1..30}; do
    printf '{"destination":"shop","payload":"' && head -c 400000 large && echo '"}'
done >wide.ndjson
lull send --batch wide.ndjson
is 'batch: wide lines: exit code' 0 "$code"
is 'batch: wide lines: slices below the limit' '20 10' "$(tail -n 2 open.journal | jq -r '.body|split("\n")|length-1' | xargs)"
# A wrong line of a file is found before anything is sent.
wrong() { # NAME REGEX LINE
    cp many.ndjson wrong.ndjson
    sed -i "15000s/.*/$3/" wrong.ndjson
    before=$(requests)
    lull send --batch wrong.ndjson
    is "batch, $1: exit code" 1 "$code"
    like "batch, $1: which line, and why" "^lull: wrong.ndjson: line 15000: $2" "$err"
    is "batch, $1: nothing is sent" 0 $(($(requests) - before))
}
wrong 'no JSON' 'not JSON: ' '{"destination":'
wrong 'no object' 'not an object' '[1]'
wrong 'no payload' 'has no payload' '{"type":"a"}'
wrong 'to nowhere' 'has neither a destination nor a type' '{"payload":1}'
wrong 'NUL bytes alone' 'not JSON: ' '\x00\x00'
sed '15000s/shop/nowhere/' many.ndjson >refused.ndjson
lull send --batch refused.ndjson
is 'batch, a line refused: exit code' 1 "$code"
is 'batch, a line refused: the line of the file' 'lull: refused.ndjson: line 15000: there is no destination nowhere
lull: refused.ndjson: the lines before 10001 are accepted' "$err"
is 'batch, a line refused: how many were taken' '10000 accepted' "$out"
printf '{"type":"a","payload":1,"key":"one"}\n\n{"type":"a","payload":2,"key":"one"}\n' >reused.ndjson
lull send --batch reused.ndjson --json
is 'batch, a key reused: exit code' 1 "$code"
is 'batch, a key reused: which line' 'lull: reused.ndjson: line 3: the key was used for another event' "$err"
is 'batch, a key reused: JSON' '[1,null,3]' "$(jq -c '[.accepted,.ids[1],.errors[0].line]' <<<"$out")"
: >empty
lull send --batch empty --json
is 'batch, empty' '0 {"ids":[],"accepted":0,"errors":[]}' "$code $out"
lull send --batch nowhere.ndjson
is 'batch, no file' '1 lull: cannot read nowhere.ndjson: No such file or directory' "$code $err"

# ---- events ----
lull event list
is 'event list: exit code' 0 "$code"
is 'event list: 100, and their head' 101 "$(wc -l <<<"$out")"
like 'event list: a row' '^evt_7 +shop +order.paid +pending +1  2020-03-01T12:00:00.000Z  503, no answer$' "$out"
is 'event list: there is more' 'lull: there is more: --all shows all, --cursor 100 goes on from here' "$err"
lull event list --limit 2 --cursor 100 --json
is 'event list --limit --cursor --json' '[["dlv_100","dlv_101"],"102"]' "$(jq -c '[[.items[].id],.next]' <<<"$out")"
lull event list --limit 1500 --json
is 'event list --limit: over two pages' '[1500,"1500"]' "$(jq -c '[(.items|length),.next]' <<<"$out")"
lull event list --all --json
is 'event list --all --json: one document' '[2500,2500,null]' "$(jq -c '[(.items|length),(.items|unique|length),.next]' <<<"$out")"
lull event list --all
is 'event list --all: one head' '2501 1' "$(wc -l <<<"$out") $(grep -c ^EVENT <<<"$out")"
is 'event list --all: no more to say' '' "$err"
lull event list --destination 'a&b' --state dead --limit 1
is 'event list: filters' '/v1/events?destination=a%26b&state=dead&limit=1' "$(asked .path)"
lull event show "$id"
like 'event show: the event' "^id +$id$" "$out"
like 'event show: a delivery' '^destination +shop$' "$out"
like 'event show: an attempt' '^ +1  2020-03-01T12:00:00.000Z  13ms  transient  503, upstream' "$out"
no_controls 'event show: no control characters' "$out"
like 'event show: they are spelt out' 'upstream \\u001b\[31mdown +<html> sorry\\u202e\\u007f$' "$out"
lull event show "$id" --json
is 'event show --json' '[12.5,"upstream \u001b[31mdown"]' "$(jq -c '.deliveries[0].trace[0]|[.took_ms,.error]' <<<"$out")"
lull event show evt_none
is 'event show, unknown' '1 lull: there is no event evt_none' "$code $err"

# ---- dead letters ----
lull dlq list
is 'dlq list: over short and empty pages' '6' "$(wc -l <<<"$out")"
like 'dlq list: a row' '^dlv_5 +shop +order.paid +5  2020-03-01T12:00:00.000Z  all attempts are spent  503, upstream' "$out"
no_controls 'dlq list: no control characters' "$out"
lull dlq list --limit 3 --json
is 'dlq list --limit' '[["dlv_1","dlv_2","dlv_3"],"3"]' "$(jq -c '[[.items[].id],.next]' <<<"$out")"
lull dlq list -d other --json
is 'dlq list --destination' '{"items":[],"next":null}' "$out"
lull dlq show dlv_1
like 'dlq show: details' '^reason +all attempts are spent$' "$out"
like 'dlq show: attempts' '^ +2  2020-03-01T12:00:00.000Z +0s  timeout +no answer' "$out"
no_controls 'dlq show: no control characters' "$out"
"$LULL" dlq show dlv_1 --payload >payload
is 'dlq show --payload: as it was' '{"order": 7}\n\0\033[2J' "$(python3 -c 'print(repr(open("payload").read())[1:-1].replace("\\x00", "\\0").replace("\\x1b", "\\033"))')"
"$LULL" dlq show dlv_2 --payload >payload
is 'dlq show --payload: bytes' 00ff1b5b33316d21 "$(od -An -tx1 payload | tr -d ' \n')"
lull dlq drop dlv_4 dlv_none dlv_5
is 'dlq drop: one unknown: exit code' 1 "$code"
is 'dlq drop: the others go' $'dlv_4 dropped\ndlv_5 dropped' "$out"
is 'dlq drop: which was not' 'lull: there is no dead letter dlv_none' "$err"
lull dlq drop dlv_3 --json
is 'dlq drop --json' '0 {"dropped":["dlv_3"]}' "$code $out"
lull dlq replay shop --rate 20/s --id dlv_1 --id dlv_2 --json
is 'dlq replay: what is sent' '{"destination":"shop","rate":"20/s","ids":["dlv_1","dlv_2"]}' "$(asked .body)"
is 'dlq replay: the replay' '["rpl_1","running"]' "$(jq -c '[.id,.state]' <<<"$out")"
lull dlq replay shop
is 'dlq replay: all of them' '{"destination":"shop"}' "$(asked .body)"
like 'dlq replay: for people' '^state +running$' "$out"
lull dlq replay shop --watch
is 'dlq replay --watch: done' 0 "$code"
like 'dlq replay --watch: the end' '^state +done$' "$out"
lull dlq replay grave --watch --json
is 'dlq replay --watch: stopped' '1 stopped' "$code $(jq -r .state <<<"$out")"
lull dlq replays
like 'dlq replays' '^rpl_1 +shop +running +20/s +2 +0 +0 +0  2020' "$out"
lull dlq cancel rpl_2 --json
is 'dlq cancel' cancelled "$(jq -r .state <<<"$out")"
lull dlq status rpl_2
like 'dlq status' '^state +cancelled$' "$out"

# ---- what makes no sense ----
refused() { # NAME REGEX ARGUMENT...
    local name=$1 expected=$2
    shift 2
    before=$(requests)
    lull "$@"
    is "$name: exit code" 2 "$code"
    like "$name: why" "$expected" "$err"
    like "$name: where to look" "^lull: see lull help $1\$" "$err"
    is "$name: nothing is asked" 0 $(($(requests) - before))
}
refused 'no verb' 'lull dest what\?' dest
refused 'a slip' 'there is no lull dest puase; did you mean pause\?' dest puase shop
refused 'another slip' 'there is no lull dlq lsit; did you mean list\?' dlq lsit
refused 'a missing word' 'write lull dest add NAME URL' dest add shop
refused 'a word too many' 'two is too much; write lull dest show NAME' dest show one two
refused 'an empty word' 'empty' dest show ''
refused 'a flag of another verb' '--policy means nothing to lull dest pause' dest pause shop --policy x
refused 'a flag of a list' '--all means nothing to lull event show' event show x --all
refused 'all and some' 'exclude each other' event list --all --limit 3
refused 'no number' 'whole number' event list --limit 0
refused 'no state' 'did you mean dead\?' event list --state daed
refused 'a flag that is none' 'did you mean --server\?' event list --sever x
refused 'no setting' 'write KEY=VALUE' dest set shop attempts
refused 'a setting without a value' 'leave it out' dest add shop http://x --set attempts=
refused 'half of JSON' 'begins like JSON, but is none' dest set shop 'headers={'
refused 'no header' 'X-Team: payments' dest add shop http://x --header nonsense
refused 'a header of two lines' 'header field' send shop -d 1 --header $'A: b\nC: d'
refused 'no time-out' 'duration' dest list --timeout soon
refused 'send: nowhere' 'where to\?' send -d 1
refused 'send: two destinations' 'one destination at a time' send shop grave -d 1
refused 'send: data and a file' 'exclude each other' send shop -d 1 -f x
refused 'send: a batch and a destination' 'its lines say where' send shop --batch x
refused 'send: no time to wait' 'duration' send shop --wait=soon -d 1
for command in send dest event dlq; do
    lull "$command" --help
    is "$command --help: exit code" 0 "$code"
    like "$command --help: usage" "^usage: lull $command " "$out"
    like "$command --help: flags" '^  --server URL ' "$out"
done

# ---- on a terminal ----
if command -v script >/dev/null; then
    export LULL TERM=xterm
    on_terminal() {
        script -qefc "$1" /dev/null >"$tmp/.out" 2>&1 </dev/null
        out=$(tr -d '\r' <"$tmp/.out")
        plain=$(tr -d '\r' <"$tmp/.out" | sed 's/\x1b\[[0-9;]*m//g')
    }
    on_terminal 'stty cols 70; $LULL dlq list'
    like 'on a terminal: colours' $'^\033\\[2mID' "$out"
    like 'on a terminal: how long ago' ' [0-9]+ d ago ' "$out"
    is 'on a terminal: no line is too long' '' "$(grep -E '.{71}' <<<"$plain")"
    like 'on a terminal: cut' '…' "$plain"
    no_controls 'on a terminal: no control characters of the server' "$plain"
    on_terminal 'NO_COLOR=1 $LULL dest list'
    no_controls 'NO_COLOR' "$out"
    on_terminal 'LC_ALL=C $LULL dlq show dlv_1'
    is 'a terminal of plain letters' '' "$(LC_ALL=C grep -n '[^ -~]' <<<"$plain")"
    on_terminal '$LULL dlq show dlv_1 --payload'
    no_controls 'a payload on a terminal is made safe' "$out"
    like 'a payload on a terminal: its lines stay' '^\{"order": 7\}$' "$out"
    like 'a payload on a terminal: the rest is spelt out' '^\\u0000\\u001b\[2J$' "$out"
    on_terminal '$LULL dlq show dlv_2 --payload'
    like 'bytes are not for terminals' 'write it to a file' "$out"
    on_terminal '$LULL dlq show dlv_1 --json'
    no_controls 'JSON on a terminal: no control characters' "$out"
    is 'JSON on a terminal can be read' dlv_1 "$(jq -r .id <<<"$out")"
    on_terminal '$LULL send shop -d 1 --wait'
    like 'send --wait: shows the state' 'pending at shop, 2 attempts so far' "$out"
    like 'send --wait: wiped away' $'\r?\033\\[K' "$out"
    like 'send --wait: the end' 'delivered$' "$out"
    on_terminal '$LULL send --batch many.ndjson'
    like 'batch: progress' 'many.ndjson  █+░* +[0-9]+ %' "$out"
    on_terminal '$LULL dlq replay shop --watch'
    like 'replay --watch: progress' 'shop  [0-9] of [0-9], 0 failed, 100/m  ' "$out"
else
    skip 'on a terminal' 'no script(1)'
fi

finish
