import { createHash } from "node:crypto";
import { blake2b } from "@noble/hashes/blake2.js";
import { expect } from "chai";

import { nativeRegistry } from "../../../../support/client/native-registry.ts";
import { type PackageUpload, packageUploads } from "../../../../support/package/package-upload.ts";

const { app, anna, at, baseOf, held } = await nativeRegistry();
const uploads = packageUploads("ours");
const algorithms = ["md5", "sha1", "sha256", "sha512"] as const;
const sumOf = (algorithm: string, content: Buffer) =>
  createHash(algorithm).update(content).digest("hex");

type Sent = Readonly<{ base: string; body?: Buffer | string; headers?: Record<string, string> }>;
const send = ({ method, path, type, body }: PackageUpload, { base, ...other }: Sent) =>
  fetch(`${base}/${path}`, {
    method,
    headers: {
      authorization: `Bearer ${anna.token}`,
      "content-type": type,
      ...other.headers,
    },
    body: new Uint8Array(Buffer.from(other.body ?? body)),
  });

/** It is refused and leaves nothing. */
async function refused(upload: PackageUpload, sent: Sent, what: string): Promise<void> {
  const head = await app.head();
  const answer = await send(upload, sent);
  expect(answer.status, `${what}: ${await answer.text()}`).to.be.oneOf([400, 422]);
  expect([await app.head(), await held()], what).to.deep.equal([head, 0]);
}

async function taken(upload: PackageUpload, sent: Sent, what: string): Promise<void> {
  const answer = await send(upload, sent);
  expect(answer.status, `${what}: ${await answer.text()}`).to.be.oneOf([200, 201]);
}

describe("the checksums in the headers of an upload", () => {
  for (const [type, upload] of Object.entries(uploads)) {
    it(`are those of the file: ${type}`, async () => {
      await at.local(type, type, { packageReuploadType: "NONE" });
      const base = baseOf(type);
      for (const algorithm of algorithms) {
        const right = sumOf(algorithm, upload.content);
        for (const sent of [sumOf(algorithm, Buffer.from("other")), "none", right.slice(1)]) {
          const headers = { [`x-checksum-${algorithm}`]: sent };
          await refused(upload, { base, headers }, `${algorithm} ${sent}`);
        }
      }
      const headers = Object.fromEntries(
        algorithms.map((each) => [`x-checksum-${each}`, sumOf(each, upload.content).toUpperCase()]),
      );
      await taken(upload, { base, headers }, "the right ones");
      await at.local(`${type}-none`, type);
      await taken(
        upload,
        { base: baseOf(`${type}-none`), headers: { "x-checksum-sha1": "" } },
        "none",
      );
    });
  }
});

describe("the checksums that npm sends", () => {
  const { body, content, ...rest } = uploads["npm"] as PackageUpload;
  const upload = { ...rest, body, content };
  const base = baseOf("npm-dist");
  const document = JSON.parse(body.toString()) as { versions: Record<string, object> };
  const withDist = (dist: object) =>
    JSON.stringify({
      ...document,
      versions: { "1.0.0": { ...document.versions["1.0.0"], dist } },
    });
  const integrityOf = (algorithm: string, of = content) =>
    `${algorithm}-${createHash(algorithm).update(of).digest("base64")}`;

  before(() => at.local("npm-dist", "npm", { packageReuploadType: "NONE" }));

  it("are those of the tarball, or none", async () => {
    const other = Buffer.from("other");
    for (const dist of [
      { integrity: integrityOf("sha512", other) },
      { integrity: integrityOf("sha256", other) },
      { integrity: `${integrityOf("sha512")} ${integrityOf("sha1", other)}` },
      { integrity: "sha512-" },
      { integrity: "rubbish" },
      { integrity: 5 },
      { shasum: sumOf("sha1", other) },
      { shasum: "rubbish" },
    ]) {
      await refused(upload, { base, body: withDist(dist) }, JSON.stringify(dist));
    }
    const right = { integrity: integrityOf("sha512"), shasum: sumOf("sha1", content) };
    await taken(upload, { base, body: withDist(right) }, "the right ones");
    await at.local("npm-undist", "npm");
    await taken(upload, { base: baseOf("npm-undist"), body: withDist({}) }, "none");
  });
});

describe("the checksums that a client of PyPI sends", () => {
  const upload = uploads["pypi"] as PackageUpload;
  const { content } = upload;
  const base = baseOf("pypi-form");
  const right = {
    md5_digest: sumOf("md5", content),
    sha256_digest: sumOf("sha256", content),
    blake2_256_digest: Buffer.from(blake2b(content, { dkLen: 32 })).toString("hex"),
  };

  before(() => at.local("pypi-form", "pypi", { packageReuploadType: "NONE" }));

  async function form(fields: Readonly<Record<string, string>>, isBehind = false) {
    const all = new FormData();
    const add = () => {
      for (const [name, value] of Object.entries(fields)) all.set(name, value);
    };
    all.set(":action", "file_upload");
    if (!isBehind) add();
    all.set("content", new Blob([new Uint8Array(content)]), "tool-1.0.0-py3-none-any.whl");
    if (isBehind) add();
    const { headers, body } = new Request("http://localhost", { method: "POST", body: all }) as {
      headers: Headers;
      body: ReadableStream;
    };
    const bytes = Buffer.from(await new Response(body).arrayBuffer());
    return { bytes, type: headers.get("content-type") ?? "" };
  }

  it("are those of the file, each of them, or none", async () => {
    for (const [name, sum] of Object.entries(right)) {
      for (const [sent, isBehind] of [
        ["0".repeat(sum.length), false],
        ["0".repeat(sum.length), true],
        ["rubbish", false],
        [sum.slice(1), false],
      ] as const) {
        const { bytes, type } = await form({ ...right, [name]: sent }, isBehind);
        await refused({ ...upload, type }, { base, body: bytes }, `${name} ${sent}`);
      }
    }
    const { bytes, type } = await form(right);
    await taken({ ...upload, type }, { base, body: bytes }, "the right ones");
    await at.local("pypi-unsummed", "pypi");
    const none = await form({});
    const sent = { base: baseOf("pypi-unsummed"), body: none.bytes };
    await taken({ ...upload, type: none.type }, sent, "none");
  });
});

describe("the checksums beside a file of Maven", () => {
  it("are refused where they are others, so that the deployment fails", async () => {
    await at.local("mvn", "maven", { packageReuploadType: "NONE" });
    const upload = uploads["maven"] as PackageUpload;
    const base = baseOf("mvn");
    await taken(upload, { base }, "the file");
    for (const algorithm of algorithms) {
      const beside = { ...upload, path: `${upload.path}.${algorithm}` };
      const right = sumOf(algorithm, upload.content);
      for (const body of ["0".repeat(right.length), "rubbish", "", `${right}0`]) {
        await refused(beside, { base, body }, `${algorithm} ${body}`);
      }
      await taken(beside, { base, body: `${right}  tool-1.0.jar\n` }, algorithm);
    }
  });
});
