#!/usr/bin/env bash
# The program itself: help, version, slips of the finger.
. "$(dirname "$0")/harness.sh"

lull
is 'without a command: usage error' 2 "$code"
like 'without a command: help on stderr' '^usage: lull' "$err"

lull help
is 'help succeeds' 0 "$code"
like 'help names the commands' '^  run ' "$out"
is 'help says nothing on stderr' '' "$err"

for way in 'help run' 'run --help' 'run -h'; do
    # shellcheck disable=SC2086
    lull $way
    is "$way succeeds" 0 "$code"
    like "$way shows the flags" '--retry-on CODE' "$out"
done

lull version
like 'version' '^lull [0-9]+\.[0-9]+\.[0-9]+$' "$out"
lull --version
like '--version' '^lull [0-9]+\.[0-9]+\.[0-9]+$' "$out"

lull rnu
is 'an unknown command is a usage error' 2 "$code"
is 'and the nearest is named' 'lull: there is no command rnu; did you mean run?' "$err"
lull launder
is 'or the help is' 'lull: there is no command launder; see lull help' "$err"
lull help nonsense
is 'help of an unknown command is a usage error' 2 "$code"

if [ -w /dev/full ]; then
    code=0
    err=$("$LULL" help 2>&1 >/dev/full) || code=$?
    is 'a full disk is not success' 1 "$code"
    is 'and it says so' 'lull: cannot write to stdout' "$err"
fi

finish
