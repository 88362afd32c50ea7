#!/usr/bin/env bash
# lull serve: addresses of this machine and of private networks are not called, however they are written, unless they are allowed.
. "$(dirname "$0")/serve.sh"

flaky private
port=${at[private]##*:}
# One that takes connections and counts them, for it is connections that must not happen.
python3 - >counter.out <<'END' &
import socket, threading
listeners = [socket.create_server(("0.0.0.0", 0))]
port = listeners[0].getsockname()[1]
try:
    listeners.append(socket.create_server(("::1", port), family=socket.AF_INET6))
except OSError:
    pass
print(port, flush=True)
def count(listener):
    while True:
        peer, _ = listener.accept()
        print("connection", flush=True)
        peer.close()
for listener in listeners[1:]:
    threading.Thread(target=count, args=(listener,), daemon=True).start()
count(listeners[0])
END
process[counter]=$!
await test -s counter.out
door=$(head -1 counter.out)

echo 'policies: [{name: quick, attempts: 2, base: 20ms, cap: 20ms, breaker: none, budget: none}]' >lull.yaml
start
number=0
for host in 127.0.0.1 localhost '[::1]' 0.0.0.0 127.1 2130706433 0x7f.1 0x7f000001 0177.0.0.1 '[::ffff:127.0.0.1]' \
    '[::ffff:7f00:1]' '[::]' '[64:ff9b::7f00:1]' localhost. LOCALHOST; do
    number=$((number + 1))
    api POST /v1/destinations -d "{\"name\":\"d$number\",\"url\":\"http://$host:$door/\",\"policy\":\"quick\"}"
    case $status in
    201)
        send "d$number" 1
        becomes "$host: no delivery" dead delivery "$id" .state
        like "$host: says why" 'addresses|not allowed|private|refuse|resolve' "$(delivery "$id" '.trace[-1].error')"
        ;;
    400) pass "$host: is no address of a destination" ;;
    *) fail "$host: neither accepted nor refused" ;;
    esac
done
# Nobody is behind these, or somebody whom a test must not call.
for host in 10.0.0.1 172.16.0.1 192.168.0.1 169.254.169.254 100.64.0.1 '[fd00::1]' '[fe80::1]'; do
    number=$((number + 1))
    add "d$number" "http://$host/" '"policy":"quick"'
    send "d$number" 1
    becomes "$host: no delivery" dead delivery "$id" .state
    like "$host: says why" 'addresses' "$(delivery "$id" '.trace[-1].error')"
done
is 'never a connection' "$door" "$(<counter.out)"

# ---- allowed, while it runs ----
add allowed "${at[private]}" '"policy":"quick"'
add named "http://localhost:$port" '"policy":"quick"'
send allowed 1
becomes 'not allowed' dead delivery "$id" .state
configure </dev/null
kill -HUP "$server"
becomes 'the new configuration is read' 1 logged ' info reloaded '
send allowed 2
becomes 'allowed: delivered' delivered delivery "$id" .state
send named 3
becomes 'allowed by name: delivered' delivered delivery "$id" .state
: >lull.yaml
echo 'log_level: info' >lull.yaml
kill -HUP "$server"
becomes 'and is read again' 2 logged ' info reloaded '
send allowed 4
becomes 'not allowed any more, whatever connection is open' dead delivery "$id" .state
is 'what arrived' 2 "$(seen private '.arrivals|length')"

ended 'addresses'
finish
