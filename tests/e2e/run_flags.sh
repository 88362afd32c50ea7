#!/usr/bin/env bash
# lull run: a bad flag is named, with its value and what would be right; nothing is run.
. "$(dirname "$0")/harness.sh"

# bad MESSAGE FLAG...
bad() {
    local message=$1
    shift
    lull run "$@" -- touch ran
    is "$*: usage error" 2 "$code"
    is "$*: says what is wrong" "lull: $message" "$(head -1 <<<"$err")"
}

bad 'there is no flag --atempts; did you mean --attempts?' --atempts 3
bad 'there is no flag --zzz' --zzz
bad 'there is no flag -x' -x
bad '--attempts 0: must be a whole number, 1 or more' --attempts 0
bad '--attempts -1: must be a whole number, 1 or more' --attempts -1
bad '--attempts 4294967296: must be a whole number, 1 or more' --attempts 4294967296
bad '--attempts many: must be a whole number, 1 or more' --attempts=many
bad '--base 5: not a duration; write 500ms, 2s, 5m, 1h or 1h30m' --base 5
bad '--base -1s: not a duration; write 500ms, 2s, 5m, 1h or 1h30m' --base=-1s
bad '--base 0s: must be longer than 0' --base 0s
bad '--cap 300y: not a duration; write 500ms, 2s, 5m, 1h or 1h30m' --cap 300y
bad '--cap 99999999h: not a duration; write 500ms, 2s, 5m, 1h or 1h30m' --cap 99999999h
bad '--cap 1s is shorter than the base, 2s' --base 2s --cap 1s
bad '--base 10s is longer than the cap of preset interactive, 2s; give a --cap too' --base 10s --preset interactive
bad '--multiplier 0.5: must be a number, 1 or more' --multiplier 0.5
bad '--multiplier nan: must be a number, 1 or more' --multiplier nan
bad '--jitter some: no such jitter; there are none, full, equal, decorrelated, additive and proportional' --jitter some
bad '--jitter full:0.5: full jitter takes no factor; additive and proportional do' --jitter full:0.5
bad '--jitter additive:2: the factor must be above 0 and at most 1, as in additive:0.5' --jitter additive:2
bad '--deadline never: not a duration; write 500ms, 2s, 5m, 1h or 1h30m' --deadline never
bad '--timeout 0: must be longer than 0' --timeout 0
bad '--grace x: not a duration; write 500ms, 2s, 5m, 1h or 1h30m, or 0' --grace x
bad '--retry-on 0: 0 is success; write exit codes of 1 to 255 and ranges of them, as in 7,28,50-60' --retry-on 0
bad '--retry-on 256: write exit codes of 1 to 255 and ranges of them, as in 7,28,50-60' --retry-on 256
bad '--stop-on 9-5: the range 9-5 runs backwards; write exit codes of 1 to 255 and ranges of them, as in 7,28,50-60' --stop-on 9-5
bad 'exit code 7 is in --retry-on and in --stop-on' --retry-on 1-10 --stop-on 7
bad '--seed x: must be a whole number below 2^64' --seed x
bad '--quiet takes no value' --quiet=yes
bad '--quiet and --json exclude each other' --quiet --json
lull run --preset workre -- touch ran
is '--preset: usage error' 2 "$code"
like '--preset: names the nearest and all' '^lull: --preset workre: no such preset; did you mean worker\? There are interactive, ' "$err"
lull run --attempts
is 'a value is missing' 'lull: --attempts needs a value: --attempts N' "$(head -1 <<<"$err")"
lull run
is 'no command: usage error' 2 "$code"
like 'no command: says so' '^lull: no command to run' "$err"
is 'nothing was run' '' "$(ls)"

finish
