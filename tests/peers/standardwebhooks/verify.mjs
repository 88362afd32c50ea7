// Verifies requests as a receiver would, with the package of Standard Webhooks.
//
//   verify.mjs SECRET <REQUESTS
//
// A request is a line of JSON, {"headers": {"webhook-id": ...}, "body_base64": ...}. For each a line: "ok", or "no: why".
import { createInterface } from "node:readline";
import { Webhook } from "standardwebhooks";

const webhook = new Webhook(process.argv[2]);
for await (const line of createInterface({ input: process.stdin })) {
  const { headers, body_base64 } = JSON.parse(line);
  try {
    webhook.verify(Buffer.from(body_base64, "base64").toString(), headers);
    console.log("ok");
  } catch (error) {
    console.log(`no: ${error.message}`);
  }
}
