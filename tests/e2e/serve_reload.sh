#!/usr/bin/env bash
# lull serve: SIGHUP reads the configuration again, and neither a connection nor a lane notices more of it than it must.
. "$(dirname "$0")/serve.sh"

receiver hooks
flaky down --fail 1
reads=0
# reload: with what is on stdin
reload() {
    configure
    kill -HUP "$server"
    reads=$((reads + 1))
    await prints "$reads" logged ' info reloaded ' || fail 'reload' "$(cat "$tmp/serve.err")"
}
breaker='policy: quick, breaker: {minimum_calls: 5, by_count: true, calls: 10, open_time: 1h, open_max: 1h}'

configure <<END
destinations:
  - {name: a, url: "${at[hooks]}/a", types: [x]}
  - {name: down, url: "${at[down]}/1", $breaker, attempts: 100}
  - {name: empty, url: "${at[hooks]}/empty"}
END
start
is 'destinations of the file' '["a config","down config","empty config"]' "$(ask /v1/destinations '[.items[]|"\(.name) \(.source)"]|tojson')"
add mine "${at[hooks]}/mine"
secret=$(jq -r .secret <<<"$out")
batch down 20
becomes 'a lane with an open circuit' open of down .circuit
becomes 'and a backlog' 20 of down '.backlog|.fresh+.retry'
arrived=$(seen down '.arrivals|length')
# A connection that is kept, with a request before and a request after.
exec 3<>"/dev/tcp/127.0.0.1/${LULL_SERVER##*:}"
exchange() {
    printf 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n' >&3
    local line length=0
    IFS= read -r -t 60 -u 3 line && echo "${line%$'\r'}"
    while IFS= read -r -t 60 -u 3 line && [ "$line" != $'\r' ]; do
        case ${line,,} in content-length:*) length=$(tr -dc 0-9 <<<"$line") ;; esac
    done
    IFS= read -r -t 60 -N "$length" -u 3 line
}
is 'a connection' 'HTTP/1.1 200 OK' "$(exchange)"

reload <<END
destinations:
  - {name: a, url: "${at[hooks]}/changed", types: [x, y]}
  - {name: down, url: "${at[down]}/2", $breaker, attempts: 101}
  - {name: new, url: "${at[hooks]}/new", types: [y]}
END
is 'one is new, one is gone, others stay' '["a config","down config","mine api","new config"]' \
    "$(ask /v1/destinations '[.items[]|"\(.name) \(.source)"]|sort|tojson')"
is 'one has changed' "${at[hooks]}/changed" "$(of a .url)"
api POST '/v1/events?type=y' -d 1
is 'the new types hold' '202 2' "$status $(jq .deliveries <<<"$out")"
becomes 'the new addresses hold' '["/changed","/new"]' got hooks '[.[].path]|sort|tojson'
is 'an open circuit stays open' open "$(of down .circuit)"
is 'a backlog stays' 20 "$(of down '.backlog|.fresh+.retry')"
is 'with its new settings' '101 /2' "$(of down '"\(.attempts) \(.url[-2:])"')"
is 'and nothing was sent to it' "$arrived" "$(seen down '.arrivals|length')"
is 'a kept connection goes on' 'HTTP/1.1 200 OK' "$(exchange)"

# ---- a file that is wrong ----
echo 'destinations: [{name: a}]' >"$tmp/lull.yaml"
kill -HUP "$server"
becomes 'a wrong file: said' 1 logged ' error reload_failed '
is 'a wrong file: what is wrong' 1 "$(logged 'reload_failed detail=.*lull\.yaml:1: destinations\[0\]')"
is 'a wrong file: the old one stays' "${at[hooks]}/changed" "$(of a .url)"
is 'a wrong file: counted' 1 "$(metric 'lull_config_reloads_total{result="failed"}')"

# ---- gone from the file, but not empty ----
reload <<END
destinations:
  - {name: a, url: "${at[hooks]}/changed"}
END
is 'not empty: stays, and is no longer of the file' '["a config","down api","mine api"]' \
    "$(ask /v1/destinations '[.items[]|"\(.name) \(.source)"]|sort|tojson')"
is 'not empty: said' 1 "$(logged ' warn destination_kept destination=down pending=20 ')"
api PATCH /v1/destinations/a -d '{"attempts":2}'
is 'what is in the file is not changed by HTTP' 409 "$status"
api DELETE /v1/destinations/down
is 'not empty: not removed' 409 "$status"
api DELETE '/v1/destinations/down?force=true'
is 'not empty: removed by force' 204 "$status"

# ---- a policy that destinations made by HTTP name ----
api PATCH /v1/destinations/mine -d '{"policy":"quick"}'
is 'a policy: by its name' '200 10' "$status $(jq .window <<<"$out")"
quick='concurrency: 7, ' reload </dev/null
is 'a policy: changed in the file, it reaches them' 7 "$(of mine .window)"

# ---- tokens ----
reload <<END
auth: {tokens: [first-token-of-some-length]}
END
api GET /v1/destinations
is 'tokens: needed at once' 401 "$status"
api GET /v1/destinations -H 'Authorization: Bearer first-token-of-some-length'
is 'tokens: known' 200 "$status"
is 'tokens: and gone from the file is a' '["mine"]' "$(jq -c '[.items[].name]' <<<"$out")"
reload <<END
auth: {tokens: [other-token-of-some-length]}
END
api GET /v1/destinations -H 'Authorization: Bearer first-token-of-some-length'
is 'tokens: the old one is not any more' 401 "$status"
api GET /v1/destinations -H 'Authorization: Bearer other-token-of-some-length'
is 'tokens: the new one is' 200 "$status"

# ---- what cannot change ----
reload <<END
workers: 1
END
is 'workers: at the next start' 1 "$(logged ' warn reload_incomplete ')"
is 'and the kept connection is still there' 'HTTP/1.1 200 OK' "$(exchange)"
exec 3>&-

# ---- secrets: of the file, none of the file, and none at all ----
secrets() {
    ask /v1/destinations '[.items[]|"\(.name) \(.source) \(.signed)"]|sort|tojson'
}
reload <<END
destinations:
  - {name: made, url: "${at[hooks]}/made"}
  - {name: mine, url: "${at[hooks]}/of-the-file-now"}
  - {name: signed, url: "${at[hooks]}/signed", secret: whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA}
  - {name: unsigned, url: "${at[hooks]}/unsigned", secret: ""}
END
is 'secrets: who signs' '["made config true","mine config true","signed config true","unsigned config false"]' "$(secrets)"
is 'secrets: never shown' 0 "$(curl -sS "$LULL_SERVER/v1/destinations" | grep -c whsec_)"
# signature SECRET: of the last request, as it should be
signature() {
    python3 - "$1" "$(tail -1 "$tmp/hooks.journal")" <<'END'
import base64, hashlib, hmac, json, sys
request = json.loads(sys.argv[2])
text = f"{request['headers']['webhook-id']}.{request['headers']['webhook-timestamp']}.".encode() + base64.b64decode(request["body_base64"])
print("v1," + base64.b64encode(hmac.digest(base64.b64decode(sys.argv[1][6:]), text, hashlib.sha256)).decode())
END
}
arrived=$(got hooks length)
send mine 1
becomes 'secrets: one made by HTTP' $((arrived + 1)) got hooks length
is 'secrets: one made by HTTP stays when the file takes over' "$(signature "$secret")" "$(got hooks '.[-1].headers["webhook-signature"]')"
send signed 1
becomes 'secrets: one of the file' $((arrived + 2)) got hooks length
is 'secrets: one of the file signs' "$(signature whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA)" "$(got hooks '.[-1].headers["webhook-signature"]')"

ended 'reload' ' error reload_failed '
start
is 'after a restart: all as it was' '["made config true","mine config true","signed config true","unsigned config false"]' "$(secrets)"
send mine 2
becomes 'after a restart: one more' $((arrived + 3)) got hooks length
is 'after a restart: the same secret signs' "$(signature "$secret")" "$(got hooks '.[-1].headers["webhook-signature"]')"
ended 'after a restart'
finish
