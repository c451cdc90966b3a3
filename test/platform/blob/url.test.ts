import { expect } from "chai";

import { parseBlobUrl } from "../../../src/platform/blob/url.ts";

describe("the address of the blobs", () => {
  it("names a bucket, and perhaps a prefix, a server and a region", () => {
    expect(parseBlobUrl("s3://forge-blobs")).to.deep.equal({
      bucket: "forge-blobs",
      prefix: "",
      endpoint: undefined,
      region: "us-east-1",
    });
    const whole = "s3://b.c-d/x/y%20z/?endpoint=http://minio:9000&region=eu-west-1";
    expect(parseBlobUrl(whole)).to.deep.equal({
      bucket: "b.c-d",
      prefix: "x/y z",
      endpoint: "http://minio:9000",
      region: "eu-west-1",
    });
  });

  for (const [text, why] of [
    ["nonsense", "is no URL"],
    ["http://bucket/x", "must start with s3://"],
    ["s3://", "must name a bucket"],
    ["s3://UPPER_case/x", "must name a bucket"],
    ["s3://key:secret@bucket", "must not hold credentials"],
    ["s3://key@bucket", "must not hold credentials"],
    ["s3://:secret@bucket", "must not hold credentials"],
    ["s3://bucket?pathStyle=1", "has an unknown option pathStyle"],
    ["s3://bucket?endpoint=minio", "has an endpoint that is no http or https address"],
    ["s3://bucket?endpoint=file:///etc", "has an endpoint that is no http or https address"],
  ] as const) {
    it(`is refused as ${text}`, () => {
      expect(() => parseBlobUrl(text)).to.throw(why);
    });
  }
});
