#!/usr/bin/env bash
# lull run: signals reach the command, and end the waiting between attempts.
. "$(dirname "$0")/harness.sh"

# Jobs in the background of a script ignore SIGINT and SIGQUIT, unless it has job control.
set -m

# Starts lull in the background, pid in $job, and waits for the file `ready`.
start() {
    rm -f ready heard runs
    "$LULL" run "$@" >"$tmp/.out" 2>"$tmp/.err" </dev/null &
    job=$!
    await test -e ready || fail "ready: $*"
}
finish_job() {
    result "$job"
    out=$(<"$tmp/.out") err=$(<"$tmp/.err")
}
listen='for s in INT TERM HUP QUIT USR1 USR2 WINCH; do trap "echo $s >>heard; case $s in USR*|WINCH) ;; *) exit 42;; esac" $s; done
echo x >>runs; touch ready; while :; do sleep 1 & wait $!; done'

for signal in INT TERM HUP QUIT; do
    start --base 1ms --cap 1ms -- sh -c "$listen"
    kill -s $signal "$job"
    finish_job
    is "SIG$signal is passed on" $signal "$(cat heard)"
    is "SIG$signal: the exit code is the command's" 42 "$code"
    is "SIG$signal: no further attempt" 1 "$(wc -l <runs)"
    like "SIG$signal: says so" "^lull: stopped by SIG$signal after 1 attempt in" "$err"
done

start --base 1ms --cap 1ms -- sh -c "$listen"
for signal in USR1 USR2 WINCH; do
    kill -s $signal "$job"
    await grep -q $signal heard
    is "SIG$signal is passed on" $signal "$(tail -1 heard)"
done
kill -TERM "$job"
finish_job
is 'and is not the end' 42 "$code"

start --base 1ms --cap 1ms -- sh -c 'touch ready; exec sleep 1000'
kill -TERM "$job"
finish_job
is 'a command without a handler: 128+N' 143 "$code"
start --base 1ms --cap 1ms -- sh -c 'trap "exit 0" TERM; touch ready; while :; do sleep 1 & wait $!; done'
kill -TERM "$job"
finish_job
is 'a command that ends well on SIGTERM has succeeded' 0 "$code"

# The group: what the command has started hears it, too.
start -- sh -c 'sleep 1000 & echo $! >pids; touch ready; wait'
kill -TERM "$job"
finish_job
if await all_gone pids; then pass 'its children get it, too'; else fail 'its children get it, too'; fi

# While it waits for the next attempt.
for pair in INT:130 TERM:143 HUP:129 QUIT:131; do
    signal=${pair%:*}
    start --base 1h --cap 1h --jitter none -- sh -c 'touch ready; exit 7'
    await grep -q retrying "$tmp/.err"
    kill -s "$signal" "$job"
    finish_job
    is "SIG$signal between attempts: ${pair#*:}" "${pair#*:}" "$code"
    like "SIG$signal between attempts: says so" "^lull: stopped by SIG$signal after 1 attempt in" "$err"
done
start --base 1s --cap 1s --jitter none --attempts 2 -- sh -c 'echo x >>runs; touch ready; exit 7'
await grep -q retrying "$tmp/.err"
kill -USR1 "$job"
kill -WINCH "$job"
finish_job
is 'others do not end the waiting' 2 "$(wc -l <runs)"

# Started with a signal ignored, as by nohup: it stays ignored, for the command as well.
(
    trap '' HUP
    exec "$LULL" run -q --attempts 1 -- sh -c 'kill -HUP $$; exit 5' </dev/null
)
is 'an ignored SIGHUP stays ignored' 5 $?

# The command starts as a program should: no signal blocked, none ignored but what lull was started with.
code=0
expected=$(sh -c 'grep -E "^Sig(Blk|Ign)" /proc/self/status')
out=$("$LULL" run -q -- sh -c 'grep -E "^Sig(Blk|Ign)" /proc/self/status')
is 'the command has the signal mask that lull was given' "$expected" "$out"

# Stop and continue, without a terminal.
start -- sh -c 'echo $$ >pids; touch ready; exec sleep 1000'
kill -TSTP "$job"
if await in_state T "$(cat pids)" && await in_state T "$job"; then pass 'SIGTSTP stops the command, and lull'; else fail 'SIGTSTP stops the command, and lull'; fi
kill -CONT "$job"
if await in_state S "$(cat pids)" && await in_state S "$job"; then pass 'SIGCONT continues both'; else fail 'SIGCONT continues both'; fi
kill -TERM "$job"
finish_job
is 'and it ends as ever' 143 "$code"

finish
