import { createHash } from "node:crypto";
import { expect } from "chai";

import { basicAuth } from "../support/app/basic-auth.ts";
import { startRegistryApp } from "../support/client/registry.ts";
import { tar, tgz, zip } from "../support/git/archive.ts";

const { app, anna, at, baseOf } = await startRegistryApp();
const basic = basicAuth("anna", anna.token);
const deep = `${"[".repeat(10_000)}${"]".repeat(10_000)}`;
/** The document with one member more, which no serialiser of this process could write. */
const text = (document: object) => `${JSON.stringify(document).slice(0, -1)},"deep":${deep}}`;

before(async () => {
  for (const type of ["cargo", "npm", "composer", "conda", "container"]) await at.local(type, type);
});

type Sent = readonly [method: string, url: string, type: string, body: Buffer | string];
const json = "application/json";
const native = (type: string, rest: string) => `${baseOf(type)}/${rest}`;

function cargo(): Buffer {
  const document = Buffer.from(text({ name: "pad", vers: "1.0.0" }));
  const manifest = '[package]\nname = "pad"\nversion = "1.0.0"\n';
  const crate = tgz([["pad-1.0.0/Cargo.toml", manifest]]);
  const lengths = [document, crate].map(({ length }) => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32LE(length);
    return bytes;
  });
  return Buffer.concat([lengths[0]!, document, lengths[1]!, crate]);
}

function npm(inBody: boolean): string {
  const version = { name: "pad", version: "1.0.0" };
  const manifest = inBody ? JSON.stringify(version) : text(version);
  const tarball = tgz([["package/package.json", manifest]]);
  const attachment = { data: tarball.toString("base64"), length: tarball.length };
  const body = {
    ...{ _id: "pad", name: "pad", "dist-tags": { latest: "1.0.0" } },
    versions: { "1.0.0": version },
    _attachments: { "pad-1.0.0.tgz": attachment },
  };
  return inBody ? text(body) : JSON.stringify(body);
}

function conda(): Buffer {
  const index = text({ name: "tool", version: "1.0", build: "0", subdir: "noarch" });
  const content = tar([["info/index.json", index]]);
  const frame = Buffer.alloc(4);
  frame.writeUInt32LE(content.length);
  const header = Buffer.concat([Buffer.from("28b52ffda0", "hex"), frame]);
  const block = Buffer.alloc(3);
  block.writeUIntLE((content.length << 3) | 1, 0, 3);
  return zip([
    ["metadata.json", '{"conda_pkg_format_version": 2}'],
    ["info-tool-1.0-0.tar.zst", Buffer.concat([header, block, content])],
  ]);
}

function manifest(): Sent {
  const type = "application/vnd.oci.image.index.v1+json";
  const body = text({ schemaVersion: 2, mediaType: type, manifests: [] });
  const digest = `sha256:${createHash("sha256").update(body).digest("hex")}`;
  return ["PUT", `${app.url}/v2/anna/forge/container/pad/manifests/${digest}`, type, body];
}

const lfsType = "application/vnd.git-lfs+json";
const doors: Readonly<Record<string, () => Sent>> = {
  REST: () => ["PUT", `${app.url}/user/profile`, json, text({ name: "Anna" })],
  "git-lfs": () => [
    ...(["POST", `${app.url}/project/anna/forge.git/info/lfs/objects/batch`, lfsType] as const),
    text({ operation: "upload", objects: [] }),
  ],
  "cargo publish": () => ["PUT", native("cargo", "api/v1/crates/new"), json, cargo()],
  "cargo owner": () => ["PUT", native("cargo", "api/v1/crates/pad/owners"), json, text({})],
  "npm publish": () => ["PUT", native("npm", "pad"), json, npm(true)],
  "the manifest in an npm tarball": () => ["PUT", native("npm", "pad"), json, npm(false)],
  "composer.json": () => [
    ...(["PUT", native("composer", "?version=1.0.0"), "application/zip"] as const),
    zip([["composer.json", text({ name: "acme/pad" })]]),
  ],
  "the index in a conda package": () => [
    ...(["PUT", native("conda", "noarch/tool-1.0-0.conda"), "application/zip", conda()] as const),
  ],
  "an image index": manifest,
};

describe("JSON of 10,000 levels", () => {
  for (const [door, sent] of Object.entries(doors)) {
    it(`is refused or stored, and stops nothing: ${door}`, async () => {
      const [method, url, type, body] = sent();
      const authorization = door === "REST" ? `token ${anna.token}` : basic;
      const headers = { authorization, "content-type": type };
      const answer = await fetch(url, { method, headers, body: new Uint8Array(Buffer.from(body)) });
      const said = `${answer.status} ${(await answer.text()).slice(0, 300)}`;
      expect(said).to.match(/^(?:20[01]|400|422) /);
    });
  }
});
