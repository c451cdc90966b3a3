import { createHmac } from "node:crypto";
import { expect } from "chai";

import { OutboundTimeout } from "../../../src/platform/outbound/http.ts";
import { OutboundRefused } from "../../../src/platform/outbound/url.ts";
import { failureCode, retryAfterMs, webhookHeaders } from "../../../src/workers/webhook/request.ts";

const deliveryId = "c1d2e3f4-a5b6-4c7d-8e9f-0a1b2c3d4e5f";
const at = new Date("2026-01-02T03:04:05.678Z");
const message = {
  deliveryId,
  action: "BRANCH_CREATE",
  body: '{"é":1}',
  secret: "s3cret",
  isReplay: false,
  at,
} as const;

/** As the specification of Standard Webhooks says it, written independently of ours. */
function signed(key: Buffer, id: string, seconds: number, body: string): string {
  const mac = createHmac("sha256", key);
  mac.update(`${id}.`);
  mac.update(`${seconds}.`);
  mac.update(Buffer.from(body, "utf8"));
  return `v1,${mac.digest("base64")}`;
}

describe("the headers of a delivery", () => {
  it("carry the secret, the event, the id, and a signature over id, time and body", () => {
    const headers = webhookHeaders(message);
    expect(headers).to.include({
      "content-type": "application/json; charset=utf-8",
      "service-webhook-secret": "s3cret",
      "service-webhook-event": "BRANCH_CREATE",
      "service-webhook-delivery": deliveryId,
      "webhook-id": deliveryId,
      "webhook-timestamp": "1767323045",
    });
    expect(headers["webhook-signature"]).to.equal(
      signed(Buffer.from("s3cret"), deliveryId, 1_767_323_045, message.body),
    );
  });

  it("mark history that is sent again", () => {
    expect(webhookHeaders({ ...message, isReplay: true })["service-webhook-replay"]).to.equal(
      "true",
    );
    expect(webhookHeaders(message)).not.to.have.property("service-webhook-replay");
  });

  it("take a secret in the form of Standard Webhooks for the bytes it encodes", () => {
    // The example key of the specification's reference libraries.
    const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const key = Buffer.from("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "base64");
    expect(webhookHeaders({ ...message, secret })["webhook-signature"]).to.equal(
      signed(key, deliveryId, 1_767_323_045, message.body),
    );
  });

  it("equal the signature that the reference libraries publish as their example", () => {
    const headers = webhookHeaders({
      deliveryId: "msg_p5jXN8AQM9LWM0D4loKWxJek",
      action: "TEST_WEBHOOK",
      body: '{"test": 2432232314}',
      secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
      isReplay: false,
      at: new Date(1_614_265_330_000),
    });
    expect(headers["webhook-signature"]).to.equal(
      "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    );
  });

  it("take what only looks like that form as it is", () => {
    const secret = "whsec_not base64!";
    expect(webhookHeaders({ ...message, secret })["webhook-signature"]).to.equal(
      signed(Buffer.from(secret), deliveryId, 1_767_323_045, message.body),
    );
  });

  it("have neither secret nor signature when there is none", () => {
    const headers = webhookHeaders({ ...message, secret: null });
    expect(headers).not.to.have.any.keys("service-webhook-secret", "webhook-signature");
  });
});

describe("Retry-After", () => {
  for (const [header, expected] of [
    ["0", 0],
    ["120", 120_000],
    [" 5 ", 5_000],
    ["Fri, 02 Jan 2026 03:05:05 GMT", 59_322],
    ["Fri, 02 Jan 2026 03:00:00 GMT", 0],
    ["-5", null],
    ["soon", null],
    ["1e9", null],
    ["2026-01-02", null],
    ["99999999999", null],
    ["", null],
    [undefined, null],
  ] as const) {
    it(`of ${JSON.stringify(header)} means ${expected} ms`, () => {
      expect(retryAfterMs(header, at)).to.equal(expected);
    });
  }
});

describe("the reason why there was no answer", () => {
  const coded = (code: string) => Object.assign(new Error("10.0.0.1 said no"), { code });
  for (const [error, expected] of [
    [new OutboundRefused("url.address", "…"), "url.address"],
    [new OutboundTimeout("…"), "timeout"],
    [coded("ECONNREFUSED"), "connection.refused"],
    [coded("ENOTFOUND"), "dns.not_found"],
    [coded("DEPTH_ZERO_SELF_SIGNED_CERT"), "tls.failed"],
    [coded("ERR_TLS_CERT_ALTNAME_INVALID"), "tls.failed"],
    [coded("HPE_INVALID_CONSTANT"), "answer.malformed"],
    [coded("HPE_HEADER_OVERFLOW"), "answer.too_large"],
    [new Error("anything"), "connection.failed"],
    ["not even an error", "connection.failed"],
  ] as const) {
    it(`is ${expected} for ${error instanceof Error ? error.name : error}`, () => {
      expect(failureCode(error)).to.equal(expected);
    });
  }
});
