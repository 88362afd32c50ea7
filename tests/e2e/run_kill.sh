#!/usr/bin/env bash
# lull run: a command that takes too long is killed, with everything it has started.
. "$(dirname "$0")/harness.sh"

# A family: a child, one that has left the process group, a grandchild, an orphan. Their pids go to
# the file `pids`.
cat >family <<'END'
#!/bin/bash
[ "$1" = deaf ] && trap '' TERM        # inherited by all below
sleep 1000 & echo $! >>pids
setsid sleep 1000 & echo $! >>pids
(sleep 1000 & echo $! >>pids; wait) & echo $! >>pids
(setsid sh -c 'sleep 1000 & echo $! >>pids') # an orphan, in a session of its own
echo $$ >>pids
until [ "$(wc -l <pids)" -eq 6 ]; do sleep 0.01; done
touch ready
[ "$2" = leave ] && exit 1
while :; do wait; sleep 1; done
END
chmod +x family

lull run --attempts 1 --timeout 100ms --grace 10s -- sleep 1000
is 'timeout: 124' 124 "$code"
like 'timeout: says so' 'attempt 1 of 1 failed \(timed out\) after' "$err"

lull run --attempts 1 --deadline 100ms -- sleep 1000
is 'deadline: 124' 124 "$code"
like 'deadline: says so' 'attempt 1 of 1 failed \(killed at the deadline\) after' "$err"

# The same with longer and longer limits, until the command gets as far as its last word before one:
# a busy machine is no failure.
# eventually LIMIT_FLAG FLAG... -- CMD ARG...
eventually() {
    local flag=$1 limit
    shift
    for limit in 100ms 1s 10s 60s; do
        rm -f pids ready tries
        lull run "$flag" "$limit" "$@"
        [ ! -e ready ] || return 0
    done
}
thrice='echo x >>tries; [ "$(wc -l <tries)" -lt 3 ] || touch ready; exec sleep 1000'
eventually --timeout --attempts 3 --base 1ms --cap 1ms -- sh -c "$thrice"
is 'timeout: retried' 3 "$(wc -l <tries)"
is 'timeout: 124 in the end' 124 "$code"
lull run --attempts 3 --base 1ms --cap 1ms --timeout 50ms --stop-on 124 -- sleep 1000
like 'timeout: counts as 124 for --stop-on' 'gave up after 1 attempt in .*: the error is permanent' "$err"
lull run --attempts 3 --base 1ms --cap 1ms --timeout 50ms --retry-on 7 -- sleep 1000
like 'timeout: and for --retry-on' 'gave up after 1 attempt in .*: the error is permanent' "$err"

eventually --timeout --attempts 1 --grace 30s -- sh -c 'trap "echo asked; exit 0" TERM; touch ready; sleep 1000 & wait'
is 'the command is asked first' asked "$out"
is 'and 124 it is, whatever it says' 124 "$code"

eventually --timeout --attempts 1 --grace 0 -- sh -c 'trap "echo asked" TERM; touch ready; while :; do sleep 1; done'
is 'no grace: not asked' '' "$out"
is 'no grace: killed' 124 "$code"

for manner in polite deaf; do
    eventually --deadline --attempts 1 --grace 200ms -- ./family $manner
    is "$manner family: 124" 124 "$code"
    is "$manner family: six were there" 6 "$(wc -l <pids)"
    if all_gone pids; then pass "$manner family: all gone"; else fail "$manner family: all gone" "$(cat pids)"; fi
done

# A command that ended by itself may leave daemons, as from a shell.
rm -f pids ready
lull run --attempts 1 -- ./family polite leave
is 'what a command leaves behind when it ends by itself is left alone' 1 "$code"
if gone "$(head -1 pids)"; then fail 'and alive'; else pass 'and alive'; fi
while read -r pid; do kill -KILL "$pid" 2>/dev/null; done <pids

# Children lull had before it was lull.
bash -c 'sleep 1000 & echo $! >stranger; exec "$0" run -q --attempts 1 --timeout 100ms --grace 100ms -- sleep 1000' "$LULL"
is 'an inherited child: 124' 124 $?
if gone "$(cat stranger)"; then fail 'an inherited child is not killed'; else pass 'an inherited child is not killed'; fi
kill "$(cat stranger)"

lull run --attempts 1 --timeout 200ms -- sh -c 'kill -STOP $$'
is 'a stopped command is killed, too' 124 "$code"

finish
