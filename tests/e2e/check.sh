#!/usr/bin/env bash
# lull check: a configuration is fine, or the error names file, line and key. And what is in etc/ is fine.
root=$(realpath "$(dirname "$0")/../..")
. "$(dirname "$0")/harness.sh"

# ---- a file ----

lull check
is 'no file: usage error' 2 "$code"
is 'no file: says so' 'lull: there is no lull.yaml here; name the configuration with -c FILE' "$err"

echo '{}' >lull.yaml
lull check
is 'the usual file is found' 0 "$code"
is 'and is fine' 'lull.yaml: fine: 0 destinations, 0 policies; listens on 127.0.0.1:8080, store sqlite:lull.db' "$out"
is 'nothing on stderr' '' "$err"

cat >shop.yaml <<'END'
listen: 127.0.0.1:9000
policies:
  - {name: patient, attempts: 20}
destinations:
  - name: shop
    url: https://shop.example/hooks
    policy: patient
    secret: env:SHOP_SECRET
  - {name: bank, url: "https://bank.example/", types: [payment.*]}
END
export SHOP_SECRET=whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw
for way in '-c shop.yaml' '--config shop.yaml' '--config=shop.yaml'; do
    # shellcheck disable=SC2086
    lull check $way
    is "$way" 'shop.yaml: fine: 2 destinations, 1 policy; listens on 127.0.0.1:9000, store sqlite:lull.db' "$out"
done
lull check -c shop.yaml --json
is 'in JSON' '{"file":"shop.yaml","ok":true,"destinations":2,"policies":1}' "$out"

unset SHOP_SECRET
lull check -c shop.yaml
is 'a secret that is not there: exit code' 2 "$code"
is 'a secret that is not there: where' \
    'shop.yaml:8: destinations[0].secret: the environment variable "SHOP_SECRET" is not set' "$err"
is 'a secret that is not there: nothing on stdout' '' "$out"

# wrong NAME MESSAGE: reads the file from stdin
wrong() {
    cat >wrong.yaml
    lull check -c wrong.yaml
    is "$1: exit code" 2 "$code"
    is "$1: says where and what" "wrong.yaml:$2" "$err"
}
wrong 'a key that is not there' '1: detsinations: there is no such key; did you mean destinations?' <<'END'
detsinations: []
END
wrong 'a policy that is not there' '4: destinations[0].policy: there is no policy "webhok"; did you mean webhook? There are interactive, gateway, worker, checkout, webhook, stream' <<'END'
destinations:
  - name: shop
    url: https://shop.example/
    policy: webhok
END
wrong 'two of a name' '3: destinations[1].name: shop is the name of the destination in line 2 already' <<'END'
destinations:
  - {name: shop, url: "https://shop.example/"}
  - {name: shop, url: "https://shop.example/"}
END
wrong 'open to all' '1: listen: others could reach 0.0.0.0:80, and there are no tokens; add some to auth.tokens, listen on 127.0.0.1, or write auth: {open: true} if anybody may use it' <<'END'
listen: 0.0.0.0:80
END
lull check -c wrong.yaml --json
is 'in JSON: exit code' 2 "$code"
is 'in JSON: where and what' '{"file":"wrong.yaml","ok":false,"line":1,"key":"listen","message":"others could reach 0.0.0.0:80, and there are no tokens; add some to auth.tokens, listen on 127.0.0.1, or write auth: {open: true} if anybody may use it"}' "$out"
is 'in JSON: nothing on stderr' '' "$err"

lull check -c nowhere.yaml
is 'no such file: exit code' 2 "$code"
is 'no such file: says so' 'nowhere.yaml: cannot be opened: No such file or directory' "$err"
lull check -c nowhere.yaml --json
is 'no such file in JSON' '{"file":"nowhere.yaml","ok":false,"line":null,"key":"","message":"cannot be opened: No such file or directory"}' "$out"

# ---- flags ----

lull check shop.yaml
is 'a word: usage error' 2 "$code"
is 'a word: says what to do' 'lull: what is shop.yaml? A file is named by -c FILE' "$(head -1 <<<"$err")"
lull check --store mysql:x
is 'a store of another kind' 'lull: --store mysql:x: "mysql:x" is not a store; write for example sqlite:lull.db' "$(head -1 <<<"$err")"
lull check --help
is 'help' 0 "$code"
like 'help shows the flags' '--store URL' "$out"

# ---- a store ----

printf 'this is no database, but long enough to look at' >broken.db
lull check --store sqlite:broken.db
is 'a store that is none: exit code' 1 "$code"
like 'a store that is none: named' 'broken\.db' "$err"
like 'the configuration is told beside it' '^lull\.yaml: fine' "$out"
rm lull.yaml
lull check --store sqlite:broken.db --json
is 'a store alone: exit code' 1 "$code"
like 'a store alone, in JSON' '^\{"store":\{"url":"sqlite:broken\.db","ok":false,"message":".*"\}\}$' "$out"

# ---- what is in etc/ ----

lull check -c "$root/etc/lull.yaml"
is 'etc/lull.yaml is fine' 0 "$code"
if command -v promtool >/dev/null; then
    is 'etc/alerts.yml is fine' 0 "$(promtool check rules "$root/etc/alerts.yml" >/dev/null 2>&1 && echo $?)"
    is 'and alerts' 0 "$(promtool test rules "$root/tests/e2e/alerts_test.yml" >/dev/null 2>&1 && echo $?)"
else
    skip 'etc/alerts.yml is fine' 'promtool is not installed'
fi
is 'etc/grafana-dashboard.json is JSON' 0 "$(python3 -m json.tool "$root/etc/grafana-dashboard.json" >/dev/null 2>&1 && echo $?)"
# Metrics of the rules and the dashboard are those of the contract.
known='attempts_total retries_total retry_delay_seconds attempt_duration_seconds backlog inflight breaker_state
    breaker_transitions_total budget_tokens rejected_total dlq_size dlq_arrivals_total retry_ratio storm
    events_accepted_total events_delivered_total store_failing'
unknown=$(grep -ohE 'lull_[a-z_]+' "$root/etc/alerts.yml" "$root/etc/grafana-dashboard.json" | sort -u |
    sed -E 's/^lull_//; s/_bucket$//' | grep -vxF "$(tr -s ' \n' '\n' <<<"$known")")
is 'etc/: there are such metrics' '' "$unknown"

finish
