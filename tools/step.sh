# shellcheck shell=bash
# What the steps of ./test share. Each step is a script that prints TAP: "ok - NAME",
# "not ok - NAME" or "ok - NAME # SKIP why".
set -uo pipefail
# shellcheck source=tools/packages.sh
. tools/packages.sh
failures=0

pass() {
    echo "ok - $1"
}

skip() {
    echo "ok - $1 # SKIP $2"
}

# fail NAME, with what to show on stdin
fail() {
    failures=$((failures + 1))
    echo "not ok - $1"
    sed 's/^/    /'
}

# check NAME COMMAND...
check() {
    local name=$1 output
    shift
    if output=$("$@" 2>&1); then
        pass "$name"
    else
        fail "$name" <<<"$output"
    fi
}

finish() {
    [ "$failures" -eq 0 ]
    exit
}

# Sets a build folder up, again if it was set up otherwise, and builds it. Tells what went wrong. Steps run side by side: one at a time
# builds in a folder.
# built FOLDER MESON_OPTION...
built() {
    local folder=$1
    mkdir -p build-test
    {
        flock 9
        build_in "$@"
    } 9>"build-test/$folder.lock"
}

build_in() {
    local folder=$1 options output
    shift
    options="${CC-} $*"
    if [ ! -e "$folder/build.ninja" ]; then
        output=$(meson setup "$folder" "$@" 2>&1) || ! tail -n 20 <<<"$output" || return 1
    elif [ "$options" != "$(cat "$folder/.options" 2>/dev/null)" ]; then
        output=$(meson setup --reconfigure "$folder" "$@" 2>&1) || ! tail -n 20 <<<"$output" || return 1
    fi
    echo "$options" >"$folder/.options"
    output=$(ninja -C "$folder" 2>&1) || ! grep -Ev '^\[[0-9]+/[0-9]+\] (Comp|Link|Gen)' <<<"$output"
}

# The same as one check, and the end of the step if it fails.
# build NAME FOLDER MESON_OPTION...
build() {
    local name=$1
    shift
    check "$name" built "$@"
    [ "$failures" -eq 0 ] || finish
}

# The program, the library, the tests and the manuals, for steps that look at them. No check, but
# the end of the step if it fails.
prepare() {
    local output
    output=$(built build -Dtests=enabled -Dman=enabled 2>&1) || {
        fail 'the build' <<<"$output"
        finish
    }
}

# Each test of meson is one of ours. Output of those that fail follows.
# meson_tests FOLDER MESON_TEST_ARGUMENT...
meson_tests() {
    local folder=$1 log before=$failures
    shift
    log=$(mktemp)
    meson test -C "$folder" --no-rebuild --print-errorlogs "$@" >"$log" 2>&1
    sed -nE 's,^ *[0-9]+/[0-9]+ (.*[^ ]) +(OK|FAIL|SKIP|TIMEOUT|ERROR|EXPECTEDFAIL|UNEXPECTEDPASS) .*,\2 \1,p; /^Summary of Failures/q' "$log" >"$log.results"
    while read -r result name; do
        case $result in
        OK | EXPECTEDFAIL) pass "$name" ;;
        SKIP) skip "$name" 'see its output' ;;
        *) fail "$name" <<<"$result" ;;
        esac
    done <"$log.results"
    if [ ! -s "$log.results" ]; then
        fail "$folder: meson test" <"$log"
    elif [ "$failures" -gt "$before" ]; then
        # What went well, and the summary's repetition, only hide the rest.
        sed '/^Summary of Failures/,$d' "$log" |
            grep -Ev '^ *[0-9]+/[0-9]+ .* OK |^\[ +(RUN|OK) +\]|^$' | sed 's/^/    /'
    fi
    rm -f "$log" "$log.results"
}

# Runs the scripts of tests/e2e with the program $LULL, some at a time, for they mostly wait. What
# each has said is left in FOLDER/NAME.log, and its exit code in FOLDER/NAME.code. A job in the
# background ignores SIGINT, and so would all that it starts: hence --default-signal. A script that
# hangs has failed.
# run_e2e FOLDER
run_e2e() {
    rm -rf "$1"
    mkdir -p "$1"
    for script in tests/e2e/*.sh; do
        [ "$script" = tests/e2e/harness.sh ] || basename "$script" .sh
    done | xargs -P $(($(nproc) * 2)) -I NAME bash -c \
        'timeout 300 env --default-signal bash "tests/e2e/$1.sh" >"$0/$1.log" 2>&1; echo $? >"$0/$1.code"' "$1" NAME
}

# C files of ours, by git or, in a copy without git, by name.
sources() {
    if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
        git ls-files --cached --others --exclude-standard -- "$@" | while read -r file; do
            [ ! -e "$file" ] || echo "$file"
        done
    else
        local arguments=()
        for pattern in "$@"; do arguments+=(-o -path "./${pattern#./}"); done
        find . -path './build*' -prune -o -name node_modules -prune -o -path ./.git -prune -o -type f \
            \( "${arguments[@]:1}" \) -print | sed 's,^\./,,'
    fi | sort
}
