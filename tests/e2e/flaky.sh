#!/usr/bin/env bash
# lull flaky: how it starts and ends. Sourced, for scripts that need such a server:
#
#   serve FLAG...      one on a free port, at $url, with its control endpoint at $control; its process is $server
#   fetch ARG...       curl: its exit code in $code, the status in $status, the body in $out
#   change JSON        of its settings
#   state PATH         a value of GET /_flaky, by jq
#   await_state PATH VALUE
#   unserve            ends it; its exit code in $code
. "$(dirname "${BASH_SOURCE[0]}")/harness.sh"

url='' control='' server='' status=''
for tool in curl jq; do
    command -v "$tool" >/dev/null || { fail "there is $tool" && finish || exit 1; }
done

cleanup() {
    [ -z "$server" ] || kill -KILL "$server" 2>/dev/null
    rm -rf "$tmp"
}

serve() {
    : >"$tmp/flaky.out"
    "$LULL" flaky --listen 127.0.0.1:0 --control 127.0.0.1:0 "$@" >"$tmp/flaky.out" 2>"$tmp/flaky.err" </dev/null &
    server=$!
    await grep -q '^control on ' "$tmp/flaky.out" || fail "serve $*" "$(cat "$tmp/flaky.err")"
    url=$(sed -n 's/^listening on //p' "$tmp/flaky.out")
    control=$(sed -n 's/^control on //p' "$tmp/flaky.out")
}

unserve() {
    kill -TERM "$server" 2>/dev/null
    result "$server"
    err=$(<"$tmp/flaky.err")
    server=''
}

# ended NAME: and without a complaint, from lull or from a sanitizer
ended() {
    unserve
    is "$1: ends cleanly" 0 "$code"
    is "$1: without complaint" '' "$err"
}

fetch() {
    code=0
    : >"$tmp/.body"
    status=$(curl -sS --max-time 60 -o "$tmp/.body" -D "$tmp/.head" -w '%{http_code}' "$@" 2>"$tmp/.err") || code=$?
    out=$(tr -d '\0' <"$tmp/.body" 2>/dev/null) err=$(<"$tmp/.err")
}

# head NAME: a header field of the last answer
head_field() {
    tr -d '\r' <"$tmp/.head" | sed -n "s/^$1: //Ip" | tail -1
}

change() {
    curl -sS --max-time 60 -X PATCH -d "$1" "$control/_flaky" >"$tmp/.change" || fail "change $1" "$(<"$tmp/.change")"
    jq -e .settings "$tmp/.change" >/dev/null || fail "change $1" "$(<"$tmp/.change")"
}

state() {
    curl -sS --max-time 60 "$control/_flaky" | jq -c "$1"
}

state_is() {
    [ "$(state "$1")" = "$2" ]
}

await_state() {
    await state_is "$1" "$2" || fail "$1 becomes $2" "it is $(state "$1")"
}

arrivals() {
    curl -sS --max-time 60 "$control/_flaky/arrivals$1" | jq -c "$2"
}

[ "${BASH_SOURCE[0]}" = "$0" ] || return 0

serve
like 'prints where it listens, first' '^listening on http://127\.0\.0\.1:[1-9][0-9]*$' "$(head -1 "$tmp/flaky.out")"
like 'prints where it is controlled' '^control on http://127\.0\.0\.1:[1-9][0-9]*$' "$(sed -n 2p "$tmp/flaky.out")"
fetch "$url/any/path"
is 'answers: curl is content' 0 "$code"
is 'answers: status' 200 "$status"
is 'answers: body' ok "$out"
is 'connections are kept' '1 0 0' "$(curl -sS -o /dev/null -w '%{num_connects} ' "$url/[1-3]" | sed 's/ $//')"
code=0
err=$("$LULL" flaky --listen "${url#http://}" 2>&1 >/dev/null) || code=$?
is 'a port in use: fails' 1 "$code"
is 'a port in use: says so' "lull: cannot listen on $url: Address already in use" "$err"
ended 'SIGTERM'
fetch "$url"
is 'nobody is there afterwards' 7 "$code"

# With job control a child in the background does not ignore SIGINT.
set -m
serve
set +m
kill -INT "$server"
result "$server"
server=''
is 'SIGINT: ends cleanly' 0 "$code"

# Whatever requests wait for, they do not keep it from ending.
serve --allow-override --workers 3
curl -sS -H 'X-Flaky: hang' "$url" >/dev/null 2>&1 &
curl -sS -H 'X-Flaky: latency=1h' "$url" >/dev/null 2>&1 &
curl -sS -H 'X-Flaky: slow-body=1; body=1m' "$url" >/dev/null 2>&1 &
await_state .serving 3
curl -sS "$url" >/dev/null 2>&1 &
await_state .queued 1
ended 'with requests hanging, delayed, dripping and queued'
wait

lull flaky --listen 127.0.0.1:0 --for 100ms
is '--for: ends by itself' 0 "$code"
like '--for: after it has listened' '^listening on ' "$out"

lull flaky --listen '[::1]:0' --for 100ms
if [ "$code" = 0 ]; then
    like 'IPv6' '^listening on http://\[::1\]:[0-9]+$' "$out"
else
    skip 'IPv6' 'none here'
fi

finish
