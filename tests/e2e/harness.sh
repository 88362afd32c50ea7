# shellcheck shell=bash
# For the scripts beside it: runs lull as a user would and says what it found, in TAP.
#
#   lull run -- true            leaves the exit code in $code, the output in $out and $err
#   is "exit code" 0 "$code"    one check

set -u
if [ ! -x "${LULL:=build/lull}" ]; then
    echo "Bail out! There is no $LULL; ./run build makes it."
    exit 1
fi
LULL=$(realpath "$LULL")
unset LULL_ATTEMPT LULL_DEADLINE_MS
tests=0 failures=0
code=0 out='' err=''
tmp=$(mktemp -d)
cleanup() {
    rm -rf "$tmp"
}
trap cleanup EXIT
cd "$tmp" || exit 1

lull() {
    code=0
    "$LULL" "$@" >"$tmp/.out" 2>"$tmp/.err" </dev/null || code=$?
    out=$(<"$tmp/.out") err=$(<"$tmp/.err")
}

# Reads what a lull in the background has left.
# result PID
result() {
    code=0
    wait "$1" || code=$?
}

pass() {
    tests=$((tests + 1))
    echo "ok $tests - $1"
}

fail() {
    tests=$((tests + 1)) failures=$((failures + 1))
    echo "not ok $tests - $1"
    shift
    printf '# %s\n' "$@" "exit code: $code" "stdout: $out" "stderr: $err"
}

skip() {
    tests=$((tests + 1))
    echo "ok $tests - $1 # SKIP $2"
}

# is NAME EXPECTED ACTUAL
is() {
    if [ "$2" = "$3" ]; then pass "$1"; else fail "$1" "expected: $2" "     got: $3"; fi
}

# like NAME REGEX TEXT
like() {
    if grep -Eq -- "$2" <<<"$3"; then pass "$1"; else fail "$1" "expected to match: $2" "got: $3"; fi
}

# Waits for a command to succeed, for as long as a busy machine may need.
# await COMMAND...
await() {
    local tries=0
    until "$@" 2>/dev/null; do
        tries=$((tries + 1))
        [ "$tries" -lt 600 ] || return 1
        sleep 0.05
    done
}

# in_state LETTER PID: R running, S asleep, T stopped, Z dead and not yet buried
in_state() {
    [ "$1" = "$(sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "/proc/$2/status" 2>/dev/null)" ]
}

gone() {
    [ ! -e "/proc/$1" ] || in_state Z "$1"
}

# all_gone FILE: of processes listed in it
all_gone() {
    local pid
    while read -r pid; do
        gone "$pid" || return 1
    done <"$1"
}

finish() {
    echo "1..$tests"
    [ "$failures" -eq 0 ]
}
