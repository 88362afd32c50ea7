#!/usr/bin/env bash
#
# Peers' side of the policies benchmark: builds and runs the peer programs and
# prints one line of JSON per result on standard output.
#
#   run.sh [--quick] [--extra] [PEER...]
#   run.sh --versions
#
#   PEER        resilience4j, failsafe-go, gobreaker or cockatiel; default: all
#   --quick     shorter and fewer rounds
#   --extra     also the figures outside the common set (see README.md)
#   --versions  print the peers' versions, one line of JSON each, and stop
#
# A result:  {"subject":"gobreaker","metric":"breaker_ns_per_call","threads":1,
#             "value":123.4,"cpu_ns":120.1}                    (on one line)
# No result: {"subject":"gobreaker","skipped":"go is not installed"}; with
#            "threads" and perhaps "metric" when only a part is missing.
#
# A peer that cannot be built or run never stops the others: it becomes a
# skipped line and the exit status stays 0.  Only wrong usage exits with 2.
#
# Environment:
#   LULL_BENCH_CACHE          where to build; default: lull-bench in the user's
#                             cache directory.  Logs are in its log folder.
#   LULL_BENCH_OFFLINE=1      download nothing; use what is already there
#   LULL_BENCH_BUILD_TIMEOUT  seconds for each download and build; default 300

set -u

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd) || exit 2
cache=${LULL_BENCH_CACHE:-${XDG_CACHE_HOME:-${HOME:-${TMPDIR:-/tmp}}/.cache}/lull-bench}
offline=${LULL_BENCH_OFFLINE:-}
build_limit=${LULL_BENCH_BUILD_TIMEOUT:-300}

all_peers=(resilience4j failsafe-go gobreaker cockatiel)
peers=()
quick=
extra=
scratch=

usage() {
    echo "usage: run.sh [--quick] [--extra] [--versions] [resilience4j] [failsafe-go] [gobreaker] [cockatiel]" >&2
}

note() {
    echo "peers: $*" >&2
}

# skip SUBJECT REASON [MEMBERS]: a skipped line; MEMBERS is JSON, with a comma
# at its end, for what exactly is missing.
skip() {
    printf '{"subject":"%s",%s"skipped":"%s"}\n' "$1" "${3:-}" "$2"
}

# limited SECONDS COMMAND...: run with a time limit; status 124 when it is hit.
# In the foreground where possible, so that an interrupt reaches the command.
if timeout --foreground -k 1 9 true 2>/dev/null; then
    limited() { timeout --foreground -k 10 "$@"; }
elif timeout 9 true 2>/dev/null; then
    limited() { timeout "$@"; }
else
    limited() {
        shift
        "$@"
    }
fi

# shellcheck disable=SC2317,SC2329  # called by the trap
clean_up() {
    if [ -n "$scratch" ]; then
        rm -rf -- "$scratch"
    fi
}

# ---- versions --------------------------------------------------------------

version_of() {
    case $1 in
    resilience4j)
        sed -n 's|.*<resilience4j.version>\(.*\)</resilience4j.version>.*|\1|p' "$here/java/pom.xml"
        ;;
    failsafe-go)
        sed -n 's|.*github.com/failsafe-go/failsafe-go v\([^ ]*\).*|\1|p' "$here/go/go.mod"
        ;;
    gobreaker)
        sed -n 's|.*github.com/sony/gobreaker/v2 v\([^ ]*\).*|\1|p' "$here/go/go.mod"
        ;;
    cockatiel)
        sed -n 's|.*"cockatiel": "\([^"]*\)".*|\1|p' "$here/node/package.json"
        ;;
    esac
}

# ---- building --------------------------------------------------------------

# The three builds.  Each runs in a copy of its source folder and leaves there
# all that is needed to run.

# shellcheck disable=SC2317,SC2329  # called by name
build_java() {
    local flags=(-q -B)
    if [ -n "$offline" ]; then
        flags+=(-o)
    fi
    limited "$build_limit" mvn "${flags[@]}" process-classes
}

# shellcheck disable=SC2317,SC2329  # called by name
build_go() {
    local settings=(GOFLAGS=-mod=readonly GOWORK=off GOTOOLCHAIN=local)
    if [ -n "$offline" ]; then
        settings+=(GOPROXY=off)
    fi
    limited "$build_limit" env "${settings[@]}" go build -trimpath -o peers .
}

# shellcheck disable=SC2317,SC2329  # called by name
build_node() {
    local flags=(--ignore-scripts --no-audit --no-fund --fetch-retries=1 --fetch-retry-mintimeout=1000)
    if [ -n "$offline" ]; then
        flags+=(--offline)
    fi
    limited "$build_limit" npm ci "${flags[@]}"
}

tool_version() {
    case $1 in
    java) java -version 2>&1 ;;
    go) go version ;;
    node) node --version ;;
    esac
}

# What the tools say when a download is what failed.
no_download='Could not transfer|could not be resolved|Could not find artifact|in offline mode|Unknown host'
no_download+='|module lookup disabled|dial tcp|no such host|[Cc]onnection refused|i/o timeout'
no_download+='|ENOTCACHED|ENOTFOUND|ECONNREFUSED|ECONNRESET|ETIMEDOUT|EAI_AGAIN|E404|E403|E50[0-9]'

# build LANGUAGE: makes "$cache/build/LANGUAGE" ready.  On failure the status
# is 1 and the reason is in $why.
build() {
    local language=$1 home=$cache/build/$1 log=$cache/log/build-$1.log stamp status
    why=
    if ! mkdir -p -- "$cache/build" "$cache/log" 2>/dev/null; then
        why='the cache directory cannot be made'
        return 1
    fi
    stamp=$({
        tool_version "$language"
        (cd -- "$here/$language" && find . -type f | LC_ALL=C sort | tr '\n' '\0' | xargs -0 cksum)
    } 2>&1 | cksum)
    if [ "$(cat -- "$home/.built" 2>/dev/null)" = "$stamp" ]; then
        return 0
    fi
    if ! scratch=$(mktemp -d -- "$cache/build/.$language.XXXXXX") || ! cp -R -- "$here/$language/." "$scratch"; then
        why='the cache directory cannot be written to'
        clean_up
        scratch=
        return 1
    fi
    note "building the $language program"
    (cd -- "$scratch" && "build_$language") >"$log" 2>&1 </dev/null
    status=$?
    if [ "$status" -eq 0 ]; then
        printf '%s\n' "$stamp" >"$scratch/.built" && rm -rf -- "$home" && mv -- "$scratch" "$home"
        status=$?
        if [ "$status" -ne 0 ]; then
            why='the cache directory cannot be written to'
        fi
    elif [ "$status" -eq 124 ] || [ "$status" -eq 137 ]; then
        why="the download and build took longer than $build_limit seconds"
    elif grep -Eq -- "$no_download" "$log"; then
        why='its packages could not be downloaded: the registry is out of reach'
    else
        why="its build failed, see build-$language.log in the log folder of the cache"
    fi
    clean_up
    scratch=
    [ "$status" -eq 0 ]
}

# needs SUBJECT TOOL...: is everything installed?
needs() {
    local subject=$1 tool
    shift
    for tool in "$@"; do
        if ! command -v "$tool" >/dev/null 2>&1; then
            skip "$subject" "$tool is not installed"
            return 1
        fi
    done
}

# ---- running ---------------------------------------------------------------

# results SECONDS COMMAND...: run in the current directory, let through only
# lines that are results; status of the command.
results() {
    limited "$@" 2>>"$run_log" </dev/null | grep -E '^\{"subject":"[^"]+","metric":"[^"]+",.*\}$'
    return "${PIPESTATUS[0]}"
}

run_resilience4j() {
    local scenario threads scenarios=(guard breaker bucket bulkhead retry refusal)
    local times=(2000 300 7)
    needs resilience4j java javac mvn || return 0
    if ! build java; then
        skip resilience4j "$why"
        return 0
    fi
    if [ -n "$quick" ]; then
        times=(800 60 5)
    fi
    if [ -n "$extra" ]; then
        scenarios+=(guard_without_bucket guard_lock_free breaker_lock_free)
        scenarios+=(guard_permit breaker_permit bucket_permit bulkhead_permit refusal_permit)
    fi
    cd -- "$cache/build/java" || return 0
    for scenario in "${scenarios[@]}"; do
        for threads in 1 2; do
            results 120 java -cp 'target/classes:target/lib/*' lullbench.Peer \
                "$scenario" "$threads" "${times[@]}" ||
                skip resilience4j 'its program failed' \
                    "\"metric\":\"${scenario}_ns_per_call\",\"threads\":$threads,"
        done
    done
}

# The two Go peers are one program; a build that failed is not tried twice.
go_why=untried

run_go() {
    local subject=$1 flags=(-peer "$1")
    needs "$subject" go || return 0
    if [ "$go_why" = untried ]; then
        build go
        go_why=$why
    fi
    if [ -n "$go_why" ]; then
        skip "$subject" "$go_why"
        return 0
    fi
    if [ -n "$quick" ]; then
        flags+=(-warmup 100ms -round 60ms -rounds 5)
    fi
    if [ -n "$extra" ]; then
        flags+=(-extra)
    fi
    cd -- "$cache/build/go" || return 0
    results 300 ./peers "${flags[@]}" ||
        skip "$subject" 'its program failed, so some figures are missing'
}

run_cockatiel() {
    local scenario scenarios=(guard breaker bulkhead retry refusal)
    local times=(1500 300 7)
    needs cockatiel node npm || return 0
    if ! build node; then
        skip cockatiel "$why"
        return 0
    fi
    if [ -n "$quick" ]; then
        times=(600 60 5)
    fi
    if [ -n "$extra" ]; then
        scenarios+=(refusal_without_stack)
    fi
    cd -- "$cache/build/node" || return 0
    for scenario in "${scenarios[@]}"; do
        results 120 node bench.mjs "$scenario" "${times[@]}" ||
            skip cockatiel 'its program failed' \
                "\"metric\":\"${scenario}_ns_per_call\",\"threads\":1,"
    done
    skip cockatiel 'two threads cannot share a JavaScript object' '"threads":2,'
}

# ---- main ------------------------------------------------------------------

versions=
while [ $# -gt 0 ]; do
    case $1 in
    --quick) quick=1 ;;
    --extra) extra=1 ;;
    --versions) versions=1 ;;
    -h | --help)
        usage
        exit 0
        ;;
    resilience4j | failsafe-go | gobreaker | cockatiel) peers+=("$1") ;;
    *)
        usage
        exit 2
        ;;
    esac
    shift
done
if [ ${#peers[@]} -eq 0 ]; then
    peers=("${all_peers[@]}")
fi

if [ -n "$versions" ]; then
    for peer in "${peers[@]}"; do
        printf '{"subject":"%s","version":"%s"}\n' "$peer" "$(version_of "$peer")"
    done
    exit 0
fi

trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

run_log=/dev/null
if mkdir -p -- "$cache/log" 2>/dev/null; then
    cache=$(cd -- "$cache" && pwd)
    run_log=$cache/log/run.log
    : >"$run_log" || run_log=/dev/null
fi

for peer in "${peers[@]}"; do
    note "$peer $(version_of "$peer")"
    case $peer in
    resilience4j) run_resilience4j ;;
    cockatiel) run_cockatiel ;;
    *) run_go "$peer" ;;
    esac
done
exit 0
