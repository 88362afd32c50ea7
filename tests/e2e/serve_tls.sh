#!/usr/bin/env bash
# lull serve: HTTPS in, and HTTPS out.
. "$(dirname "$0")/serve.sh"

command -v openssl >/dev/null || { skip 'TLS' 'there is no openssl' && finish && exit 0; }
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem -out certificate.pem -days 2 \
    -subj /CN=localhost -addext 'subjectAltName=DNS:localhost,IP:127.0.0.1' 2>/dev/null
configure <<END
tls: {certificate: $tmp/certificate.pem, key: $tmp/key.pem}
END
start
like 'listens with TLS' '^https://127\.0\.0\.1:' "$LULL_SERVER"
api GET /healthz --cacert certificate.pem
is 'answers' '200 ok' "$status $out"
api GET /healthz
is 'to those who trust its certificate' 60 "$code"
api GET /healthz --cacert certificate.pem --tls-max 1.1 --ciphers 'DEFAULT@SECLEVEL=0'
is 'not with TLS 1.1' 35 "$code"
code=0
answer=$(curl -sS --max-time 60 "http://${LULL_SERVER#https://}/healthz" 2>/dev/null) || code=$?
is 'and to nobody without TLS' '' "$(grep -x ok <<<"$answer")"
lull dest list --json
is 'the command line: exit code' 1 "$code"
like 'the command line: does not trust it either' 'certificate' "$err"
lull dest list --json --ca certificate.pem
is 'the command line: unless told whom to trust' 0 "$code"

# A destination whose certificate nobody vouches for gets nothing.
python3 - >secure.out 2>&1 <<'END' &
import http.server, ssl
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        print("got", self.path, flush=True)
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
    def log_message(self, *arguments):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain("certificate.pem", "key.pem")
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_port, flush=True)
server.serve_forever()
END
process[secure]=$!
await test -s secure.out
port=$(head -1 secure.out)
api POST /v1/destinations --cacert certificate.pem -d "{\"name\":\"secure\",\"url\":\"https://localhost:$port/\",\"policy\":\"quick\"}"
is 'a destination' 201 "$status"
api POST /v1/destinations/secure/events --cacert certificate.pem -d 1
id=$(jq -r .id <<<"$out")
state() {
    curl -sS --cacert certificate.pem "$LULL_SERVER/v1/events/$id" | jq -r '.deliveries[0].state'
}
becomes 'a certificate that nobody vouches for: no delivery' dead state
is 'a certificate that nobody vouches for: nothing arrived' 0 "$(grep -c got secure.out)"
ended 'TLS'

# Now somebody does: the file says so.
cat >>lull.yaml <<END
addresses: {allow: [127.0.0.0/8], ca_file: $tmp/certificate.pem}
END
sed -i '0,/^addresses/{/^addresses/d}' lull.yaml
start
api POST /v1/destinations/secure/events --cacert certificate.pem -d 2
id=$(jq -r .id <<<"$out")
becomes 'a certificate of an authority of ours: delivered' delivered state
is 'a certificate of an authority of ours: arrived' 1 "$(grep -c got secure.out)"
ended 'TLS, with an authority of ours'

echo nonsense >key.pem
refused 'a bad key' 1 'TLS|key\.pem' -c lull.yaml --listen 127.0.0.1:0 --store sqlite:x.db
refused 'no key' 1 'nowhere\.pem' -c <(echo "tls: {certificate: $tmp/certificate.pem, key: nowhere.pem}") --listen 127.0.0.1:0 --store sqlite:x.db
finish
