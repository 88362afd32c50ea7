#!/usr/bin/env bash
# lull run: when it tries again, when it stops, and with which code it ends.
. "$(dirname "$0")/harness.sh"

# Fails until its nth run. Counts its runs in the file `runs`.
cat >flaky <<'END'
#!/bin/sh
echo x >>runs
[ "$(wc -l <runs)" -ge "$1" ] || exit "$2"
END
chmod +x flaky
runs() {
    wc -l <runs
}
fresh() {
    rm -f runs
}
fast=(--base 1ms --cap 2ms)

lull run -- sh -c 'echo hello'
is 'success: exit 0' 0 "$code"
is 'success: the output is the command'\''s' hello "$out"
like 'success: one line' '^lull: attempt 1 of 4 succeeded after [0-9.]+m?s$' "$err"

lull run sh -c 'exit 0'
is 'the -- may be left out' 0 "$code"

fresh
lull run "${fast[@]}" --attempts 5 -- ./flaky 3 7
is 'retried until it succeeds: exit 0' 0 "$code"
is 'retried until it succeeds: three runs' 3 "$(runs)"
like 'each failure has its line' '^lull: attempt 1 of 5 failed \(exit 7\) after [0-9.]+m?s; retrying in [0-9.]+ms$' "$err"
like 'and so has the success' '^lull: attempt 3 of 5 succeeded' "$err"
is 'and there are no more' 3 "$(wc -l <<<"$err")"

fresh
lull run "${fast[@]}" --attempts 3 -- ./flaky 9 7
is 'attempts spent: the command'\''s exit code' 7 "$code"
is 'attempts spent: three runs' 3 "$(runs)"
like 'attempts spent: says so' '^lull: gave up after 3 attempts in [0-9.]+m?s: all attempts are spent$' "$err"

lull run "${fast[@]}" --attempts 2 -- sh -c 'kill -SEGV $$'
is 'killed by a signal: 128+N' 139 "$code"
like 'killed by a signal: named' 'attempt 1 of 2 failed \(killed by SIGSEGV\)' "$err"

fresh
lull run "${fast[@]}" --retry-on 7,20-29 -- ./flaky 3 25
is '--retry-on: a code in the list is retried' 3 "$(runs)"
fresh
lull run "${fast[@]}" --retry-on 7,20-29 -- ./flaky 3 8
is '--retry-on: another is final' 1 "$(runs)"
is '--retry-on: and is the exit code' 8 "$code"
like '--retry-on: says why' 'the error is permanent' "$err"

fresh
lull run "${fast[@]}" --stop-on 8 -- ./flaky 3 8
is '--stop-on: final' 1 "$(runs)"
is '--stop-on: exit code' 8 "$code"
fresh
lull run "${fast[@]}" --stop-on 8 -- ./flaky 3 7
is '--stop-on: others are retried' 3 "$(runs)"

lull run "${fast[@]}" -- ./no-such-command
is 'not found: 127' 127 "$code"
is 'not found: not retried' 1 "$(grep -c '^lull: attempt' <<<"$err")"
like 'not found: says so' 'attempt 1 of 4 failed \(cannot be run: No such file or directory\)' "$err"
echo text >not-executable
lull run "${fast[@]}" -- ./not-executable
is 'not executable: 126' 126 "$code"
lull run "${fast[@]}" --retry-on 127 -- ./no-such-command
like 'not found: retried if asked for' 'attempt 4 of 4' "$err"
printf 'exit 9\n' >plain-script
chmod +x plain-script
lull run --attempts 1 -- ./plain-script
is 'a script without #! is run by sh' 9 "$code"

lull run "${fast[@]}" --attempts 3 --deadline 1h -- sh -c 'echo $LULL_ATTEMPT; [ $LULL_DEADLINE_MS -le 3600000 ] && [ $LULL_DEADLINE_MS -gt 3000000 ] && exit 1; exit 9'
is 'LULL_ATTEMPT counts' "1 2 3" "$(xargs <<<"$out")"
is 'LULL_DEADLINE_MS is what is left' 1 "$code"
lull run --attempts 1 --deadline none -- sh -c 'echo "${LULL_DEADLINE_MS-unset}"'
is 'LULL_DEADLINE_MS is not set without a deadline' unset "$out"

fresh
lull run --deadline 1s --base 1h --cap 1h --jitter none -- ./flaky 9 7
is 'a delay past the deadline is not slept' 1 "$(runs)"
is 'and the exit code is the command'\''s' 7 "$code"
like 'and it says so' 'the next attempt would start past the deadline' "$err"

# Inside another lull run: the outer one retries.
fresh
lull run "${fast[@]}" --attempts 3 -- "$LULL" run "${fast[@]}" --attempts 5 -- ./flaky 99 7
is 'nested: three runs, not fifteen' 3 "$(runs)"
is 'nested: the exit code comes through' 7 "$code"
like 'nested: says why' 'gave up after 1 attempt in .*: a caller upstream retries, so this hop does not \(LULL_ATTEMPT is set; --retry-nested overrides\)' "$err"
fresh
lull run "${fast[@]}" --attempts 3 -- "$LULL" run --retry-nested "${fast[@]}" --attempts 5 -- ./flaky 99 7
is 'nested: --retry-nested multiplies' 15 "$(runs)"
lull run --attempts 1 --deadline 1h -- "$LULL" run --deadline none -- sh -c '[ "$LULL_DEADLINE_MS" -le 3600000 ]'
is 'nested: the outer deadline holds inside' 0 "$code"

printf 'one\ntwo\nthree\n' >lines
code=0
out=$("$LULL" run "${fast[@]}" --attempts 3 -q -- sh -c 'read -r line; echo "$line"; exit 1' <lines) || code=$?
is 'stdin is the same for all attempts, and is not replayed' "one two three" "$(xargs <<<"$out")"

lull run --dry-run --preset interactive
is '--dry-run runs nothing' 0 "$code"
is '--dry-run shows the policy' 'interactive: at most 5 attempts, base 100ms, multiplier 2, cap 2s, jitter full, deadline 5s' "$(head -1 <<<"$out")"
is '--dry-run shows each delay' '  attempt 5: 0s to 800ms after the last' "$(tail -1 <<<"$out")"
lull run --dry-run --attempts 1000 --base 1s --cap 10s --jitter none
like '--dry-run is short' 'and so on until attempt 1000' "$(tail -1 <<<"$out")"

delays() {
    sed -n 's/.*"delay_ms":\([0-9.]*\)}.*/\1/p' <<<"$err"
}
lull run --base 1ms --cap 10ms --jitter full --json --seed 42 -- false
first=$(delays)
lull run --base 1ms --cap 10ms --jitter full --json --seed 42 -- false
is '--seed: the same delays' "$first" "$(delays)"
lull run --base 1ms --cap 10ms --jitter full --json --seed 43 -- false
if [ "$first" != "$(delays)" ]; then pass '--seed: another seed, other delays'; else fail '--seed: another seed, other delays'; fi

finish
