#!/usr/bin/env bash
# lull serve: bad requests. Each is refused with a problem that says what is wrong, and harms nobody.
. "$(dirname "$0")/serve.sh"

receiver hooks
configure <<END
limits: {request: 1s, idle: 1s, body: 1m, batch: 2m}
END
start
add shop "${at[hooks]}/shop"
port=${LULL_SERVER##*:}

# refuses NAME STATUS CODE METHOD PATH ARG...
refuses() {
    api "${@:4}"
    is "$1" "$2 $2 $3 application/problem+json with a title and a detail" \
        "$status $(jq -r '"\(.status) \(.code)"' <<<"$out" 2>/dev/null) $(head_field Content-Type) $(jq -r \
            'if (.title|length > 0) and (.detail|length > 0) then "with a title and a detail" else "with neither" end' <<<"$out" 2>/dev/null)"
}

# ---- routes ----
refuses 'an unknown route' 404 not_found GET /v1/nothing
refuses 'a route below a route' 404 not_found GET /v1/destinations/shop/events/more
refuses 'a wrong method' 405 method_not_allowed DELETE /v1/events
is 'a wrong method: which ones there are' 'GET, HEAD, POST' "$(head_field Allow | tr -d ' ' | tr , '\n' | sort | paste -sd, | sed 's/,/, /g')"
refuses 'an unknown destination' 404 unknown_destination POST /v1/destinations/nobody/events -d 1
refuses 'an unknown event' 404 unknown_event GET /v1/events/evt_0000000000000
refuses 'no event at all' 404 unknown_event GET /v1/events/nonsense
refuses 'an unknown dead letter' 404 unknown_dead_letter GET /v1/dlq/dlv_0000000000000
refuses 'an unknown replay' 404 unknown_replay GET /v1/replays/rpl_0000000000000
refuses 'a replay to nobody' 404 unknown_destination POST /v1/dlq/replay -d '{"destination":"nobody"}'

# ---- JSON ----
refuses 'no JSON' 400 bad_json POST /v1/destinations -d '{"name":'
refuses 'no object' 400 bad_json POST /v1/destinations -d '[]'
refuses 'nothing' 400 bad_json POST /v1/destinations -d ''
refuses 'an unknown key' 400 bad_settings POST /v1/destinations -d '{"name":"x","url":"http://a/","atempts":3}'
like 'an unknown key: a suggestion' 'atempts.*did you mean attempts' "$(jq -r .detail <<<"$out")"
refuses 'no URL' 400 bad_settings POST /v1/destinations -d '{"name":"x"}'
refuses 'a URL of a file' 400 bad_settings POST /v1/destinations -d '{"name":"x","url":"file:///etc/passwd"}'
refuses 'a URL with a user' 400 bad_settings POST /v1/destinations -d '{"name":"x","url":"http://me:pw@a/"}'
refuses 'a secret of the environment' 400 bad_settings POST /v1/destinations -d '{"name":"x","url":"http://a/","secret":"env:HOME"}'
refuses 'a name with a slash' 400 bad_settings POST /v1/destinations -d '{"name":"../x","url":"http://a/"}'
refuses 'a name that is not UTF-8' 400 bad_json POST /v1/destinations --data-binary $'{"name":"\xff\xfe","url":"http://a/"}'
refuses 'a name that is not UTF-8, in a path' 404 unknown_destination GET /v1/destinations/%FF%FE
refuses 'a name with a zero byte' 404 not_found POST /v1/destinations/shop%00/events -d 1
refuses 'a name that is taken' 409 destination_exists POST /v1/destinations -d '{"name":"shop","url":"http://a/"}'
python3 -c 'print("[" * 100000)' >deep
refuses 'a hundred thousand brackets' 400 bad_json POST /v1/destinations -d @deep

# ---- lists ----
refuses 'a bad limit' 400 bad_limit GET '/v1/events?limit=0'
refuses 'a limit of too many' 400 bad_limit GET '/v1/events?limit=1001'
refuses 'a limit that is no number' 400 bad_limit GET '/v1/dlq?limit=ten'
refuses 'a bad cursor' 400 bad_cursor GET '/v1/events?cursor=%FFnonsense'
refuses 'a bad cursor of dead letters' 400 bad_cursor GET '/v1/dlq?cursor=nonsense'
refuses 'a bad state' 400 bad_state GET '/v1/events?state=lost'
refuses 'a destination nobody knows' 404 unknown_destination GET '/v1/events?destination=nobody'

# ---- header injection ----
refuses 'CR LF in a type' 400 bad_type POST '/v1/destinations/shop/events?type=a%0D%0AX-Evil:%201' -d 1
refuses 'a type that is not UTF-8' 400 bad_type POST '/v1/events?type=%FF' -d 1
refuses 'CR LF in a header of a destination' 400 bad_settings POST /v1/destinations -d '{"name":"x","url":"http://a/","headers":{"X":"1\r\nX-Evil: 1"}}'
refuses 'CR LF in the name of one' 400 bad_settings POST /v1/destinations -d '{"name":"x","url":"http://a/","headers":{"X\r\nX-Evil":"1"}}'
refuses 'a header that is not for it to set' 400 bad_settings POST /v1/destinations -d '{"name":"x","url":"http://a/","headers":{"webhook-id":"1"}}'
refuses 'CR LF in a URL' 400 bad_settings POST /v1/destinations -d '{"name":"x","url":"http://a/\r\nX-Evil: 1"}'
api POST /v1/events:batch --data-binary '{"destination":"shop","payload":1,"content_type":"text/plain\r\nX-Evil: 1"}'
is 'CR LF in a content type' '400 1' "$status $(jq .line <<<"$out")"
is 'nothing of this arrived' 0 "$(got hooks length)"
# A header over two lines is one header, or none.
exec 3<>"/dev/tcp/127.0.0.1/$port"
printf 'POST /v1/destinations/shop/events HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 1\r\nContent-Type: text/plain\r\n X-Evil: 1\r\n\r\n1' >&3
timeout 60 cat <&3 >raw
exec 3>&-
like 'a content type over two lines: answered' '^HTTP/1\.1 (202|400) ' "$(head -1 raw)"
folded=$(grep -c '^HTTP/1.1 202' raw)
becomes 'a content type over two lines: arrives, if it was accepted' "$folded" got hooks length
is 'a content type over two lines: makes no header' '[]' "$(got hooks '[.[].headers["x-evil"]|select(. != null)]|tojson')"

# ---- bodies ----
# 100 MB are announced, and refused before they are sent.
exec 3<>"/dev/tcp/127.0.0.1/$port"
printf 'POST /v1/destinations/shop/events HTTP/1.1\r\nHost: x\r\nContent-Length: 104857600\r\n\r\nbegin' >&3
IFS= read -r -t 60 -u 3 line
exec 3>&-
is 'a body of 100 MB: refused unread' 'HTTP/1.1 413' "${line:0:12}"
head -c 1048577 /dev/zero >large
refuses 'a byte too many' 413 too_large POST /v1/destinations/shop/events --data-binary @large -H 'Expect:'
refuses 'a byte too many, in chunks' 413 too_large POST /v1/destinations/shop/events --data-binary @large -H 'Transfer-Encoding: chunked' -H 'Expect:'
head -c 1048576 /dev/zero >large
api POST /v1/destinations/shop/events --data-binary @large
is 'not one too many' 202 "$status"
becomes 'and it arrives' $((folded + 1)) got hooks length
refuses 'a batch that is too large' 413 too_large POST /v1/events:batch --data-binary "@$(head -c 2097153 /dev/zero >lines; echo lines)" -H 'Expect:'

# ---- batches ----
printf '{"destination":"shop","payload":1}\n{"destination":"shop"}\n' >lines
refuses 'a batch with a bad line' 400 bad_batch POST /v1/events:batch --data-binary @lines
is 'a batch with a bad line: which' 2 "$(jq .line <<<"$out")"
printf '{"destination":"shop","payload":1}\n\n{"destination":"nobody","payload":1}\n' >lines
api POST /v1/events:batch --data-binary @lines
is 'a batch to nobody' 3 "$(jq .line <<<"$out")"
like 'a batch to nobody: who' nobody "$(jq -r .detail <<<"$out")"
printf '{"destination":"shop","payload":1}\n{"destination":"shop","payload":' >lines
api POST /v1/events:batch --data-binary @lines
is 'a batch that breaks off' '400 2' "$status $(jq .line <<<"$out")"
sleep 0.1
is 'none of these lines was accepted' $((folded + 1)) "$(of shop .accepted)"

# ---- slow clients ----
# They have a second for a request, and while they wait others are served.
exec 3<>"/dev/tcp/127.0.0.1/$port"
printf 'POST /v1/destinations/shop/events HTTP/1.1\r\nHost: x\r\nContent-Le' >&3
exec 4<>"/dev/tcp/127.0.0.1/$port"
printf 'POST /v1/destinations/shop/events HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n123' >&4
python3 - "$port" <<'END' &
import socket, sys, time
peer = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
peer.settimeout(0.1)
try:
    for byte in b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: " + b"x" * 500:
        peer.send(bytes([byte]))
        try:
            if peer.recv(1000) == b"":
                break
        except TimeoutError:
            pass
    else:
        sys.exit(1)
except OSError:
    pass
END
dripping=$!
api GET /healthz
is 'others are served meanwhile' 200 "$status"
code=0
timeout 60 cat <&3 >slow.1 || code=$?
is 'half a head: let go' 0 "$code"
timeout 60 cat <&4 >slow.2 || code=$?
is 'half a body: let go' 0 "$code"
exec 3>&- 4>&-
result "$dripping"
is 'a byte now and then: let go' 0 "$code"
is 'nothing of this was accepted' $((folded + 1)) "$(of shop .accepted)"

# ---- what is no HTTP ----
for bytes in 'nonsense\r\n\r\n' 'GET / HTTP/9.9\r\n\r\n' 'POST /v1/destinations/shop/events HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n' \
    'POST /v1/destinations/shop/events HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n' \
    '\x16\x03\x01\x02\x00\x01\x00' '\0\0\0\0'; do
    exec 3<>"/dev/tcp/127.0.0.1/$port"
    # shellcheck disable=SC2059
    printf "$bytes" >&3
    timeout 60 cat <&3 >raw
    exec 3>&-
    is "no HTTP, ${bytes:0:20}: nothing is accepted" 0 "$(grep -c '^HTTP/1.1 2' raw)"
done
is 'and it serves' $((folded + 1)) "$(of shop .accepted)"
ended 'requests'

# ---- tokens ----
configure <<END
auth: {tokens: [a-token-of-some-length]}
END
start
refuses 'no token' 401 unauthorized GET /v1/destinations
like 'no token: what is wanted' '^Bearer' "$(head_field WWW-Authenticate)"
refuses 'a wrong token' 401 unauthorized POST /v1/destinations/shop/events -d 1 -H 'Authorization: Bearer a-token-of-some-lengtH'
refuses 'half a token' 401 unauthorized GET /metrics -H 'Authorization: Bearer a-token'
refuses 'another scheme' 401 unauthorized GET / -u user:a-token-of-some-length
refuses 'an unknown route, without' 401 unauthorized GET /v1/nothing
api GET /healthz
is 'health needs none' 200 "$status"
api GET /v1/destinations -H 'Authorization: bearer a-token-of-some-length'
is 'the token' 200 "$status"
ended 'tokens'
finish
