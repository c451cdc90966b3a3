import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";

import { temporaryDirectory } from "../git/git.ts";

/** The package brings no types; this is what is used of it. */
type S3rver = new (
  options: Readonly<Record<string, unknown>>,
) => Readonly<{ run: () => Promise<AddressInfo>; close: () => Promise<void> }>;

const S3Server = createRequire(import.meta.url)("@20minutes/s3rver") as S3rver;

export type TestS3 = Readonly<{
  /** As BLOB_URL names a place in the bucket. */
  urlOf: (prefix: string) => string;
}>;

/** An S3 server of its own for the calling file, which knows the SDK by credentials in the environment. */
export async function testS3(): Promise<TestS3> {
  const directory = await temporaryDirectory();
  const bucket = "blobs";
  const server = new S3Server({
    port: 0,
    address: "127.0.0.1",
    silent: true,
    // It computes another one than Amazon for requests about the bucket itself.
    allowMismatchedSignatures: true,
    directory,
    configureBuckets: [{ name: bucket, configs: [] }],
  });
  const { port } = await server.run();
  const before = { ...process.env };
  process.env["AWS_ACCESS_KEY_ID"] = "S3RVER";
  process.env["AWS_SECRET_ACCESS_KEY"] = "S3RVER";
  after(async () => {
    for (const name of ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]) {
      if (before[name] === undefined) delete process.env[name];
      else process.env[name] = before[name];
    }
    await server.close();
  });
  return {
    urlOf: (prefix) => `s3://${bucket}/${prefix}?endpoint=http://127.0.0.1:${port}`,
  };
}
