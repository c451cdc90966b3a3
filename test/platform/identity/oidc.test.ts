import { expect } from "chai";

import { discoverOidc } from "../../../src/platform/identity/oidc.ts";
import type { OutboundHttp } from "../../../src/platform/outbound/http.ts";

const issuer = "https://login.example";

/** A provider whose description of itself has so many bytes. */
function described(bytes: number): OutboundHttp {
  const members = { issuer, authorization_endpoint: `${issuer}/authorize`, padding: "" };
  const whole = Buffer.from(
    JSON.stringify({ ...members, padding: "x".repeat(bytes - JSON.stringify(members).length) }),
  );
  const request: OutboundHttp["request"] = async ({ bodyBytesMax }) => ({
    ...{ status: 200, headers: { "content-type": "application/json" } },
    ...{ address: "203.0.113.1", connectMs: 0, firstByteMs: 0, totalMs: 0 },
    body: whole.subarray(0, bodyBytesMax),
    bodyTruncated: whole.length > bodyBytesMax,
  });
  // Nothing else of the client is used.
  return { request } as OutboundHttp;
}

describe("an answer of a provider of OpenID", () => {
  it("is taken with a quarter of a mebibyte, and refused when it is longer", async () => {
    const discover = (bytes: number) =>
      discoverOidc(described(bytes), { issuer, plainHttp: false });
    expect((await discover(256 * 1024)).issuer).to.equal(issuer);
    const failure: unknown = await discover(256 * 1024 + 1).catch((error: unknown) => error);
    expect(String((failure as Error).cause ?? failure)).to.contain("did not come whole");
  });
});
