#!/usr/bin/env bash
# lull run on a terminal: the command reads from it, Ctrl-C ends both, Ctrl-Z and fg work.
. "$(dirname "$0")/harness.sh"

if ! command -v script >/dev/null; then
    skip 'on a terminal' 'no script(1)'
    finish
    exit
fi

shopt -s lastpipe # so that what `terminal` finds out stays here

# Types on a new terminal what comes from stdin. The exit code is the command's.
# terminal COMMAND
terminal() {
    code=0
    script -qefc "$1" /dev/null >"$tmp/.out" 2>"$tmp/.err" || code=$?
    out=$(tr -d '\r' <"$tmp/.out") err=$(<"$tmp/.err")
}
export LULL

{
    await test -e ready
    echo typed
    await test -e end
} | terminal '$LULL run --attempts 1 -- sh -c "touch ready; read -r line; echo \"got \$line\"; touch end"'
is 'the command reads from the terminal' 0 "$code"
like 'what was typed' '^got typed$' "$out"

rm -f ready
{
    await test -e ready
    printf '\003'
    await test -e after
} | terminal '$LULL run --base 1ms --cap 1ms -- sh -c "echo x >>runs; touch ready; sleep 1000"; echo $? >after'
is 'Ctrl-C: 130' 130 "$(cat after)"
is 'Ctrl-C: no further attempt' 1 "$(wc -l <runs)"

rm -f after
{
    await grep -q retrying "$tmp/.out"
    printf '\003'
    await test -e after
} | terminal 'trap : INT; $LULL run --base 1h --cap 1h -- sh -c "exit 7"; echo $? >after'
is 'Ctrl-C between attempts: 130' 130 "$(cat after)"

rm -f ready after
{
    await test -e after
} | terminal '$LULL run --attempts 1 --timeout 300ms --grace 0 -- sh -c "stty -echo; sleep 1000"; stty -a >modes; touch after'
like 'a killed command does not leave the terminal without echo' '[^-]echo( |;)' "$(cat modes)"

# Job control, with a shell that has it.
rm -f ready after
cat >session <<'END'
PS1= PS2=
$LULL run -q --attempts 1 -- sh -c 'echo $$ >pid; touch ready; read -r line; echo "$line" >heard; exit 7'
jobs >listed
fg
echo $? >after
exit
END
{
    sed -n 1,2p session
    await test -e ready
    printf '\032'
    await in_state T "$(cat pid)"
    sed -n 3p session
    await test -s listed
    sed -n 4p session
    await in_state S "$(cat pid)"
    echo again
    await test -s heard
    sed -n '5,$p' session
    await test -e after
} | terminal 'bash --norc --noprofile -i'
like 'Ctrl-Z: the shell has its terminal back' Stopped "$(cat listed)"
is 'fg: the command reads again' again "$(cat heard)"
is 'fg: and its exit code comes through' 7 "$(cat after)"

finish
