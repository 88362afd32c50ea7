#!/usr/bin/env bash
# lull serve: how it starts and ends. Sourced, for scripts that need such a server, and others that it delivers to:
#
#   configure <<END        what follows is its configuration; addresses on this machine are allowed, and there is a policy `quick`
#   start                  lull serve on a free port and $tmp/lull.db, at $LULL_SERVER; its process is $server
#   api METHOD PATH ARG... curl: the status in $status, the body in $out, header fields by head_field
#   add NAME URL KEYS      a destination, KEYS as in '"attempts":2'
#   send NAME DATA         an event to it; its id in $id
#   of NAME FILTER         a value of a destination, by jq
#   becomes NAME EXPECTED COMMAND...   a check: awaits that the command prints so
#   settle, crash          end it by SIGTERM, by SIGKILL
#   ended NAME             a check: it ends, and has said nothing unexpected
#   flaky NAME FLAG...     a lull flaky at ${at[NAME]}; turn NAME JSON changes it, seen NAME FILTER looks at its arrivals
#   receiver NAME          one that writes down what it gets at ${at[NAME]}; got NAME FILTER looks at that
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/harness.sh"

export LC_ALL=C.UTF-8
unset LULL_TOKEN http_proxy HTTP_PROXY
export LULL_SERVER=''
server='' status='' id=''
declare -A at=() knob=() process=()
for tool in curl jq python3; do
    command -v "$tool" >/dev/null || { fail "there is $tool" && finish || exit 1; }
done

cleanup() {
    # Not by a child that is ended before it has become the program.
    [ "$BASHPID" = $$ ] || return
    # Waited for, so that the shell does not tell of their end.
    # shellcheck disable=SC2086
    { kill -KILL $server "${process[@]}" && wait $server "${process[@]}"; } 2>/dev/null
    rm -rf "$tmp"
}

# ---- destinations ----

flaky() {
    "$LULL" flaky --listen 127.0.0.1:0 --control 127.0.0.1:0 --seed 1 "${@:2}" >"$tmp/$1.out" 2>"$tmp/$1.err" </dev/null &
    process[$1]=$!
    await grep -q '^control on ' "$tmp/$1.out" || fail "flaky $*" "$(cat "$tmp/$1.err")"
    at[$1]=$(sed -n 's/^listening on //p' "$tmp/$1.out")
    knob[$1]=$(sed -n 's/^control on //p' "$tmp/$1.out")
}

turn() {
    curl -sS --max-time 60 -X PATCH -d "$2" "${knob[$1]}/_flaky" | jq -e .settings >/dev/null || fail "turn $*"
}

seen() {
    curl -sS --max-time 60 "${knob[$1]}/_flaky/arrivals?limit=100000" | jq -c "$2"
}

receiver() {
    : >"$tmp/$1.journal"
    python3 "$here/serve_receiver.py" "$tmp/$1.journal" >"$tmp/$1.out" 2>"$tmp/$1.err" </dev/null &
    process[$1]=$!
    await grep -q '^listening on ' "$tmp/$1.out" || fail "receiver $1" "$(cat "$tmp/$1.err")"
    at[$1]=$(sed -n 's/^listening on //p' "$tmp/$1.out")
}

# got NAME FILTER: of the list of requests
got() {
    jq -sr "$2" "$tmp/$1.journal"
}

# ---- the server ----

configure() {
    {
        echo 'addresses: {allow: [127.0.0.0/8]}'
        echo "policies: [{name: quick, ${quick-}attempts: 3, base: 20ms, cap: 100ms, breaker: none, budget: none}]"
        cat
    } >"$tmp/lull.yaml"
}

# launch FLAG...: start, with no flags but these
launch() {
    : >"$tmp/serve.out"
    "$LULL" serve "$@" >"$tmp/serve.out" 2>"$tmp/serve.err" </dev/null &
    server=$!
    await eval 'grep -q "^listening on " "$tmp/serve.out" || gone "$server"'
    LULL_SERVER=$(sed -n 's/^listening on //p' "$tmp/serve.out")
    [ -n "$LULL_SERVER" ] || { fail "start $*" "$(cat "$tmp/serve.err")" && finish || exit 1; }
}

start() {
    launch --listen 127.0.0.1:0 --store "sqlite:$tmp/lull.db" -c "$tmp/lull.yaml"
}

settle() {
    kill -TERM "$server" 2>/dev/null
    result "$server"
    err=$(<"$tmp/serve.err")
    server=''
}

crash() {
    kill -KILL "$server"
    { result "$server"; } 2>/dev/null
    server=''
}

# Whatever is in its log that is neither information nor a warning: errors, and reports of sanitizers.
complaints() {
    grep -Ev '^[0-9-]{10}T[0-9:.]{12}Z (info|warn) [a-z_]+ ' "$tmp/serve.err"
}

# ended NAME [REGEX]: but for lines that match
ended() {
    settle
    is "$1: ends cleanly" 0 "$code"
    is "$1: without complaint" '' "$(complaints | grep -Ev "${2:-^$}")"
}

# ---- asking it ----

api() {
    code=0
    : >"$tmp/.body"
    status=$(curl -sS --max-time 60 -o "$tmp/.body" -D "$tmp/.head" -w '%{http_code}' -X "$1" "${@:3}" "$LULL_SERVER$2" 2>"$tmp/.err") || code=$?
    out=$(tr -d '\0' <"$tmp/.body") err=$(<"$tmp/.err")
}

head_field() {
    tr -d '\r' <"$tmp/.head" | sed -n "s/^$1: //Ip" | tail -1
}

# ask PATH FILTER: what GET gives, by jq
ask() {
    curl -sS --max-time 60 "$LULL_SERVER$1" | jq -r "$2"
}

add() {
    api POST /v1/destinations -d "{\"name\":\"$1\",\"url\":\"$2\"${3:+,$3}}"
    [ "$status" = 201 ] || fail "add $1"
}

send() {
    api POST "/v1/destinations/$1/events" -d "$2" "${@:3}"
    [ "$status" = 202 ] || fail "send $1 $2"
    id=$(jq -r .id <<<"$out")
}

of() {
    ask "/v1/destinations/$1" "$2"
}

# delivery ID FILTER: of an event, the first one
delivery() {
    ask "/v1/events/$1" ".deliveries[0]|$2"
}

metric() {
    curl -sS --max-time 60 "$LULL_SERVER/metrics" | awk -v name="$1 " 'index($0, name) == 1 { print $NF }'
}

prints() {
    [ "$("${@:2}")" = "$1" ]
}

becomes() {
    if await prints "${@:2}"; then pass "$1"; else fail "$1" "expected: $2" "     got: $("${@:3}")"; fi
}

# batch NAME COUNT [FROM]: so many events to it
batch() {
    seq "${3:-1}" $((${3:-1} + $2 - 1)) | jq -c --arg name "$1" '{destination: $name, payload: {n: .}}' >"$tmp/.batch"
    api POST /v1/events:batch --data-binary "@$tmp/.batch"
    [ "$status" = 202 ] || fail "batch $*"
}

logged() {
    grep -Ec -- "$1" "$tmp/serve.err"
}

# refused NAME EXPECTED_CODE REGEX FLAG...: it does not start, and says why
refused() {
    code=0
    timeout 60 "$LULL" serve "${@:4}" >"$tmp/.out" 2>"$tmp/.err" </dev/null || code=$?
    out=$(<"$tmp/.out") err=$(<"$tmp/.err")
    is "$1: exit code" "$2" "$code"
    like "$1: says so" "$3" "$err"
    is "$1: never said that it listens" '' "$out"
}

[ "${BASH_SOURCE[0]}" = "$0" ] || return 0

receiver hooks
configure </dev/null
start
like 'prints where it listens, first' '^listening on http://127\.0\.0\.1:[1-9][0-9]*$' "$(head -1 "$tmp/serve.out")"
api GET /healthz
is 'is healthy' '200 ok' "$status $out"
api GET /readyz
is 'is ready' 200 "$status"

# ---- what keeps another from starting ----
refused 'the port is in use' 1 'cannot listen on .*: Address already in use' \
    --listen "${LULL_SERVER#http://}" --store "sqlite:$tmp/other.db"
refused 'the store is in use' 1 'lull\.db.* (in use|another|locked)' --listen 127.0.0.1:0 --store "sqlite:$tmp/lull.db"
echo 'no database at all, but a file of somebody, who wants to keep it' >theirs
refused 'the store is a file of another kind' 1 theirs --listen 127.0.0.1:0 --store sqlite:theirs
is 'the store is a file of another kind: it is left alone' 'no database at all, but a file of somebody, who wants to keep it' "$(<theirs)"
python3 -c 'import sqlite3; sqlite3.connect("other.sqlite").executescript("create table contacts (name);")'
before=$(sha256sum <other.sqlite)
refused 'the store is a database of another program' 1 other.sqlite --listen 127.0.0.1:0 --store sqlite:other.sqlite
is 'the store is a database of another program: it is left alone' "$before" "$(sha256sum <other.sqlite)"
printf 'log_level: info\ndestinations:\n  - name: shop\n    url: ftp://example\n' >bad.yaml
refused 'a bad configuration' 2 'bad\.yaml:4: destinations\[0\]\.url: ' -c bad.yaml --listen 127.0.0.1:0
printf 'lisen: 127.0.0.1:0\n' >bad.yaml
refused 'an unknown key' 2 'bad\.yaml:1: lisen: .*did you mean listen' -c bad.yaml
refused 'no configuration' 2 'nowhere\.yaml' -c nowhere.yaml
refused 'reachable from elsewhere without tokens' 2 'auth\.tokens' --listen 0.0.0.0:0 --store sqlite:x.db
printf 'listen: "[::]:0"\n' >open.yaml
refused 'reachable by IPv6 without tokens' 2 'auth\.tokens' -c open.yaml --store sqlite:x.db
refused 'an unknown flag' 2 'lisen.*did you mean --listen' --lisen 1
is 'nothing of this made a store' '' "$(ls x.db 2>/dev/null)"
ended 'SIGTERM'
api GET /healthz
is 'nobody is there afterwards' 7 "$code"

# ---- an attempt under way is finished ----
start
add slow "${at[hooks]}/slow/2" '"concurrency":1'
send slow 1
first=$id
send slow 2
becomes 'an attempt is under way' 1 of slow .backlog.inflight
ended 'SIGTERM during an attempt'
is 'no other attempt was begun' 1 "$(got hooks length)"
start
is 'it was settled: one attempt' 'delivered 1' "$(delivery "$first" '"\(.state) \(.attempts)"')"
becomes 'the other one is delivered now' 'delivered 1' delivery "$id" '"\(.state) \(.attempts)"'
is 'neither is sent again' 2 "$(got hooks length)"
ended 'after that'

# ---- an attempt that does not end is given up, and made again ----
configure <<'END'
shutdown: {patience: 100ms}
END
start
add slower "${at[hooks]}/slow/30"
send slower 1
becomes 'an attempt is under way' 1 of slower .backlog.inflight
ended 'SIGTERM during a long attempt'
start
is 'it is pending' pending "$(delivery "$id" .state)"
ended 'after that, too'

# With job control a child in the background does not ignore SIGINT.
set -m
start
set +m
kill -INT "$server"
result "$server"
server=''
is 'SIGINT: ends cleanly' 0 "$code"

# ---- the configuration that comes with it, and none ----
launch -c "$here/../../etc/lull.yaml" --listen 127.0.0.1:0 --store sqlite:etc.db
like 'etc/lull.yaml starts' '^http://127' "$LULL_SERVER"
ended 'etc/lull.yaml'

mkdir empty
cd empty || exit 1
launch --listen 127.0.0.1:0
like 'without a configuration: the store is here' 'lull\.db' "$(ls)"
ended 'without a configuration'
cd ..

printf 'auth: {open: true}\n' >open.yaml
launch -c open.yaml --listen 0.0.0.0:0 --store sqlite:x.db
like 'auth.open: reachable from elsewhere' '^http://0\.0\.0\.0:' "$LULL_SERVER"
ended 'auth.open'

finish
