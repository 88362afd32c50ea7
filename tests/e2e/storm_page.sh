#!/usr/bin/env bash
# The page of lull storm --html in a browser: its numbers are those of the JSON, nothing is complained about, nothing is fetched.
here=$(cd "$(dirname "$0")" && pwd)
. "$(dirname "$0")/harness.sh"

browser=
for name in chromium chromium-browser google-chrome; do
    browser=$(command -v "$name") && break
done
if [ -z "$browser" ] || ! command -v python3 >/dev/null; then
    skip 'the page in a browser' 'no chromium, or no python3'
    finish
    exit
fi

# Names and texts that would be markup, if anything took them for it.
cat >hostile.yaml <<'END'
name: hostile
title: "</script><img src=x onerror=alert(1)><!-- & \" ' `"
text: "<b>bold</b> ]]> <script>alert(2)</script> &lt;"
duration: 40s
clients:
  - {name: "<i>users", calls: "a'b\"c<u>", rate: 20/s}
  - {name: "others&amp;", calls: fine, rate: 5/s}
services:
  - name: "a'b\"c<u>"
    latency: {kind: exponential, mean: 20ms}
    faults: [{kind: error, at: 10s, for: 5s, share: 0.5}, {kind: slow, at: 20s, for: 5s, factor: 3}]
  - {name: fine, latency: {kind: fixed, mean: 5ms}}
policies:
  - {name: "<svg onload=alert(3)>", note: "</script>", attempts: 3, attempt_timeout: 1s, deadline: none}
  - {name: "__proto__", attempts: 1, attempt_timeout: 1s, deadline: none}
END
sed '/faults:/d; s/^name: .*/name: calm/' hostile.yaml >calm.yaml

lull storm checkout --scale 0.02 --seed 18446744073709551615 --html checkout.html --json checkout.json -q
is 'checkout: a page and its figures' 0 "$code"
lull storm gateway --scale 0.1 --html gateway.html --json gateway.json -q
is 'gateway: a page and its figures' 0 "$code"
lull storm hostile.yaml --html hostile.html --json hostile.json -q
is 'hostile texts: a page and its figures' 0 "$code"
lull storm calm.yaml --html calm.html --json calm.json -q
is 'nothing goes wrong: a page and its figures' 0 "$code"

# Each line is "pass NAME" or "fail NAME: why"; the last is "end".
last=
while IFS= read -r line; do
    last=$line
    case $line in
    'pass '*) pass "${line#pass }" ;;
    'fail '*) fail "${line#fail }" ;;
    esac
done < <(python3 -B "$here/storm_page.py" "$browser" checkout gateway hostile calm 2>errors)
is 'the browser was there to the end' end "$last"
[ "$last" = end ] || sed 's/^/# /' errors

finish
