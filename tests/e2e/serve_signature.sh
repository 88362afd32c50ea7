#!/usr/bin/env bash
# lull serve: what it signs, receivers can verify, with the package that Standard Webhooks offers them.
. "$(dirname "$0")/serve.sh"

for tool in node npm; do
    command -v "$tool" >/dev/null || { skip 'signatures' "there is no $tool" && finish && exit 0; }
done
cp -r "$here/../peers/standardwebhooks" peer
if ! (cd peer && timeout 120 npm ci --ignore-scripts --no-audit --no-fund) >npm.log 2>&1; then
    skip 'signatures' 'npm ci did not get standardwebhooks' && finish && exit 0
fi

receiver hooks
configure </dev/null
start
add shop "${at[hooks]}"
secret=$(jq -r .secret <<<"$out")
send shop '{"order": 7, "who":"Zoë 😀"}' -H 'Content-Type: application/json'
becomes 'arrives' 1 got hooks length

# verifies SECRET FILTER: what the package says of what arrived, changed by the filter
verifies() {
    jq -c "$2" "$tmp/hooks.journal" | tail -1 | node peer/verify.mjs "$1"
}
is 'verifies' ok "$(verifies "$secret" .)"
is 'another secret does not' 'no: No matching signature found' "$(verifies whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA .)"
is 'another body does not' 'no: No matching signature found' "$(verifies "$secret" ".body_base64 = \"$(base64 <<<'{"order": 8}')\"")"
is 'another id does not' 'no: No matching signature found' "$(verifies "$secret" '.headers["webhook-id"] = "evt_other"')"
is 'another time does not' 'no: No matching signature found' "$(verifies "$secret" '.headers["webhook-timestamp"] |= (tonumber + 1|tostring)')"

# ---- a new secret: for a day both hold ----
api POST /v1/destinations/shop/rotate-secret
is 'rotate-secret' 200 "$status"
new=$(jq -r .secret <<<"$out")
is 'rotate-secret: another one' true "$([ "$new" != "$secret" ] && echo true)"
is 'rotate-secret: the old one holds for a day' true "$(jq '.previous_valid_until[:19]+"Z"|fromdate - now|. > 80000 and . < 90000' <<<"$out")"
send shop '{"order": 9}'
becomes 'arrives, too' 2 got hooks length
is 'the new one verifies' ok "$(verifies "$new" .)"
is 'the old one still does' ok "$(verifies "$secret" .)"
is 'two signatures' 2 "$(got hooks '.[1].headers["webhook-signature"]|split(" ")|length')"
settle
start
send shop '{"order": 10}'
becomes 'after a restart' 3 got hooks length
is 'both still do' 'ok ok' "$(verifies "$new" .) $(verifies "$secret" .)"
lull dest rotate-secret shop
newest=$(grep -o 'whsec_[A-Za-z0-9+/=]*' <<<"$out")
send shop '{"order": 11}'
becomes 'once more' 4 got hooks length
is 'the newest verifies, and the one before' 'ok ok' "$(verifies "$newest" .) $(verifies "$new" .)"
is 'the oldest does not' 'no: No matching signature found' "$(verifies "$secret" .)"

# A secret of the receiver's choice.
add given "${at[hooks]}" '"secret":"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"'
send given '{}'
becomes 'a given secret' 5 got hooks length
is 'a given secret verifies' ok "$(verifies whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw .)"
ended 'signatures'
finish
