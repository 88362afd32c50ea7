#!/usr/bin/env bash
# lull storm: scenarios, policies, reports; the same seed gives the same bytes.
. "$(dirname "$0")/harness.sh"
export LC_ALL=C.UTF-8
quick=(--scale 0.02 --duration 100s)

lull storm
is 'without arguments: exit code' 0 "$code"
for name in checkout gateway webhook push chain; do
    like "without arguments: lists $name" "^  $name +[A-Z]" "$out"
done
like 'without arguments: something to try' '^  lull storm checkout$' "$out"
listed=$out
lull storm --list
is '--list: the same' "$listed" "$out"

lull storm --show chain
is '--show: exit code' 0 "$code"
like '--show: YAML' '^name: chain$' "$out"
printf '%s\n' "$out" >mine.yaml
lull storm --show chian
is '--show: unknown: exit code' 2 "$code"
like '--show: unknown: a suggestion' 'did you mean chain\?' "$err"

# A table.
lull storm checkout "${quick[@]}"
is 'a table: exit code' 0 "$code"
is 'a table: nothing on stderr, which is no terminal' '' "$err"
like 'a table: the title' '^checkout: A 30 s outage' "$out"
like 'a table: a line per policy' '^lull +[0-9.]+ +[0-9.]+ .* %' "$out"
like 'a table: a line of blocks' '^naive +[▁▂▃▄▅▆▇█ ]+$' "$out"
like 'a table: the fault is marked' 'checkout: refuse, 60 s - 90 s ━+$' "$out"
if grep -q $'\033' <<<"$out"; then fail 'a table: no colours, for it is no terminal'; else pass 'a table: no colours, for it is no terminal'; fi
is 'a table: 100 letters wide' '' "$(grep -E '.{101}' <<<"$out")"
LC_ALL=C lull storm chain --scale 0.1
is 'a table: plain letters where there are no others' '' "$(LC_ALL=C grep -n '[^ -~]' <<<"$out")"
lull storm gateway "${quick[@]}" -v
like 'other clients have a table' '^Beside them: browsing, calling catalog$' "$out"
like '--verbose: what a policy is' '^  Time-outs of 10 s, three retries' "$out"
lull storm chain --scale 0.1 --quiet
is '--quiet: nothing' '' "$out$err"

# The same file as the built-in scenario gives the same figures.
lull storm chain --json built_in.json -q
lull storm mine.yaml --json mine.json -q
is 'a file: exit code' 0 "$code"
if cmp -s built_in.json mine.json; then pass 'a file: same figures as built in'; else fail 'a file: same figures as built in'; fi

# Determinism.
lull storm checkout "${quick[@]}" --seed 7 --json first.json -q
lull storm checkout "${quick[@]}" --seed 7 --json second.json -q
lull storm checkout "${quick[@]}" --seed 8 --json third.json -q
if cmp -s first.json second.json; then pass 'same seed: same bytes'; else fail 'same seed: same bytes'; fi
if cmp -s first.json third.json; then fail 'other seed: other bytes'; else pass 'other seed: other bytes'; fi
if command -v taskset >/dev/null; then
    taskset -c "$(sed -n 's/^Cpus_allowed_list:[[:space:]]*\([0-9]*\).*/\1/p' /proc/self/status)" \
        "$LULL" storm checkout "${quick[@]}" --seed 7 --json one.json -q
    if cmp -s first.json one.json; then pass 'one processor: same bytes'; else fail 'one processor: same bytes'; fi
else
    skip 'one processor: same bytes' 'no taskset(1)'
fi
lull storm checkout "${quick[@]}" --seed 7 --json -
is '--json -: only JSON on stdout' "$(<first.json)" "$out"

if command -v jq >/dev/null; then
    is 'JSON: the figures of a policy' \
        '["attempts_per_request","errors","goodput","name","p50_ms","p99_ms","peak_load","recovery_s","series"]' \
        "$(jq -c '.policies[0]|keys-["groups","services","note","peak_after"]' first.json)"
    is 'JSON: seed, scale, duration' '[7,0.02,100]' "$(jq -c '[.seed,.scale,.duration_s]' first.json)"
    is 'JSON: faults' '[{"service":"checkout","kind":"refuse","from_s":60,"to_s":90}]' "$(jq -c .faults first.json)"
    is 'JSON: all policies, in order' '["none","naive","exponential","full","full+budget","full+breaker","lull"]' \
        "$(jq -c '[.policies[].name]' first.json)"
    is 'JSON: series of a value a second' '[100]' "$(jq -c '[.policies[].series[]|length]|unique' first.json)"
    is 'JSON: seconds' '[0,1,99]' "$(jq -c '.policies[0].series.t|[.[0],.[1],.[99]]' first.json)"
    is 'JSON: goodput is what succeeded of what ended' true \
        "$(jq '[.policies[]|(.groups[0]|.succeeded/(.succeeded+.failed)) - .goodput|fabs < 1e-6]|all' first.json)"
else
    skip 'JSON: read back' 'no jq'
fi

# Policies.
lull storm checkout "${quick[@]}" --policy lull --policy full+budget -p gateway --json chosen.json -q
is '--policy: exit code' 0 "$code"
if command -v jq >/dev/null; then
    is '--policy: these, in this order' '["lull","full+budget","gateway"]' "$(jq -c '[.policies[].name]' chosen.json)"
    is '--policy: as in the whole scenario, the scale and seed being the same' true "$(
        lull storm checkout "${quick[@]}" --json whole.json -q
        jq -s '(.[0].policies[0]) == (.[1].policies[]|select(.name=="lull"))' chosen.json whole.json
    )"
fi
lull storm checkout --policy lul
is '--policy: unknown: exit code' 2 "$code"
like '--policy: unknown: what there is' '^lull: --policy lul: there is no policy "lul"; did you mean .*naive' "$err"
lull storm checkout --policy lull --policy lull
is '--policy: twice: exit code' 2 "$code"

# What makes no sense.
refused() { # NAME REGEX ARGUMENT...
    local name=$1 expected=$2
    shift 2
    lull storm "$@"
    is "$name: exit code" 2 "$code"
    like "$name: why" "$expected" "$err"
    is "$name: nothing on stdout" '' "$out"
}
refused 'no scenario' 'which scenario\?' --seed 3
refused 'two scenarios' 'one scenario at a time' checkout chain
refused 'unknown scenario' '^chekout: .*did you mean checkout\?' chekout
refused 'no such file' '^\./nowhere\.yaml: ' ./nowhere.yaml
refused 'unknown flag' 'did you mean --policy\?' checkout --polciy lull
refused 'bad seed' 'whole number' checkout --seed -1
refused 'bad scale' 'from 0\.001 to 100' checkout --scale 0
refused 'bad duration' '500ms, 2s' checkout --duration soon
refused 'a duration that ends before the trouble begins' 'before checkout is in trouble, at 1m' checkout --duration 30s
refused '--quiet and --verbose' 'exclude each other' checkout --quiet --verbose
refused 'both reports to stdout' 'both' checkout --json - --html -
refused 'both reports to one file' 'same file' checkout --json x --html x
cat >bad.yaml <<'END'
name: bad
duration: 1m
clients:
  - name: web
    calls: shop
    rate: 10/s
services:
  - name: shop
    capacity: 12k
END
refused 'a bad file: file, line, key, reason' '^bad\.yaml:9: services\[0\]\.capacity: "12k" is not a rate' bad.yaml
sed -i 's/12k/20\/s\n    latency: {kind: fixed, mean: 10ms}/' bad.yaml
refused 'a file without policies' 'has no policies; name some' bad.yaml
lull storm bad.yaml --policy full
is 'a file without policies, and one named' 0 "$code"
like 'a scenario without faults has no recovery' '^full .* – ' "$out"

# Files.
lull storm chain --scale 0.1 --json nowhere/out.json
is 'unwritable: exit code' 1 "$code"
like 'unwritable: which, and why' '^lull: cannot write nowhere/out\.json: No such file or directory$' "$err"
is 'unwritable: told before the run, not after' '' "$out"
lull storm chain --scale 0.1 --html .
is 'a directory: exit code' 1 "$code"
like 'a directory: why' 'cannot write \.: Is a directory' "$err"
if [ -w /dev/full ]; then
    lull storm chain --scale 0.1 --json /dev/full
    is 'a full disk: exit code' 1 "$code"
    like 'a full disk: why' 'cannot write /dev/full: No space left on device' "$err"
    like 'a full disk: the table is shown all the same' '^chain: ' "$out"
    is 'a device stays one' 'character special file' "$(stat -c %F /dev/full)"
fi
(ulimit -f 4 && trap '' XFSZ && "$LULL" storm chain --json cut.json -q) 2>cut.err
is 'a file that cannot be completed: exit code' 1 $?
like 'a file that cannot be completed: why' 'cannot write cut\.json: File too large' "$(<cut.err)"
is 'a file that cannot be completed is not there' '' "$(ls cut.json cut.json.tmp 2>/dev/null)"
echo before >kept.json
chmod 640 kept.json
ln -s kept.json link.json
lull storm chain --scale 0.1 --json link.json -q
is 'a link is followed' 'symbolic link' "$(stat -c %F link.json)"
like 'a link is followed: to its file' '^\{"scenario":"chain"' "$(<kept.json)"
is 'permissions stay' 640 "$(stat -c %a kept.json)"
is 'nothing is left beside it' '' "$(ls ./*.tmp 2>/dev/null)"
mkfifo pipe
cat pipe >piped.json &
lull storm chain --scale 0.1 --json pipe -q
wait $!
if cmp -s piped.json kept.json; then pass 'a pipe is written to'; else fail 'a pipe is written to'; fi

lull storm chain --scale 0.1 --html page.html -q
is '--html: exit code' 0 "$code"
like '--html: a page' '<!doctype html>' "$(head -n 1 page.html)"

# On a terminal.
if command -v script >/dev/null; then
    export LULL TERM=xterm
    on_terminal() {
        script -qefc "$1" /dev/null >"$tmp/.out" 2>&1 </dev/null
        out=$(tr -d '\r' <"$tmp/.out")
    }
    on_terminal 'stty cols 60; $LULL storm chain --scale 0.1'
    like 'on a terminal: colours' $'\033\\[1mchain' "$out"
    like 'on a terminal: progress' 'chain  policy 1 of 4  ' "$out"
    like 'on a terminal: wiped away in the end' $'\033\\[K' "$out"
    table=$(sed 's/.*\x1b\[K//; s/\x1b\[[0-9;]*m//g' <<<"$out")
    is 'on a narrow terminal: no line is too long' '' "$(grep -E '.{61}' <<<"$table")"
    on_terminal 'NO_COLOR=1 $LULL storm chain --scale 0.1 2>/dev/null'
    if grep -q $'\033' <<<"$out"; then fail 'NO_COLOR'; else pass 'NO_COLOR'; fi
else
    skip 'on a terminal' 'no script(1)'
fi

lull help storm
is 'help: exit code' 0 "$code"
like 'help: usage' '^usage: lull storm' "$out"

finish
