import { createHash } from "node:crypto";
import { readdir } from "node:fs/promises";
import { connect } from "node:net";
import path from "node:path";
import { expect } from "chai";

import { composerZip, deb, nupkg, tgz, wheel } from "../../../support/archive.ts";
import { eventually } from "../../../support/eventually.ts";
import { nativeRegistry } from "../../../support/native-registry.ts";

const { app, at, anna, send, held } = await nativeRegistry();

type Upload = Readonly<{ method: string; path: string; type: string; body: Buffer }>;

const boundary = "the-boundary";
const part = (name: string, content: Buffer | string, fileName?: string) =>
  Buffer.concat([
    Buffer.from(
      `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${fileName === undefined ? "" : `; filename="${fileName}"`}\r\n\r\n`,
    ),
    Buffer.from(content),
    Buffer.from("\r\n"),
  ]);
const form = (...parts: readonly Buffer[]) => ({
  method: "POST",
  type: `multipart/form-data; boundary=${boundary}`,
  body: Buffer.concat([...parts, Buffer.from(`--${boundary}--\r\n`)]),
});
const put = (where: string, body: Buffer): Upload => ({
  ...{ method: "PUT", path: where, body },
  type: "application/octet-stream",
});

function crate(): Buffer {
  const toml = '[package]\nname = "tool"\nversion = "1.0.0"\ndescription = "d"\nlicense = "MIT"\n';
  const document = Buffer.from(JSON.stringify({ name: "tool", vers: "1.0.0" }));
  const content = tgz([["tool-1.0.0/Cargo.toml", toml]]);
  const lengths = [document, content].map(({ length }) => {
    const field = Buffer.alloc(4);
    field.writeUInt32LE(length);
    return field;
  });
  return Buffer.concat([lengths[0]!, document, lengths[1]!, content]);
}

function pythonForm() {
  const content = wheel("tool", "1.0.0");
  const fields = { ":action": "file_upload", protocol_version: "1", metadata_version: "2.1" };
  const sha256_digest = createHash("sha256").update(content).digest("hex");
  const all = { ...fields, name: "tool", version: "1.0.0", filetype: "bdist_wheel", sha256_digest };
  const parts = Object.entries(all).map(([name, value]) => part(name, value));
  return form(...parts, part("content", content, "tool-1.0.0-py3-none-any.whl"));
}

const chart = tgz([["tool/Chart.yaml", "apiVersion: v2\nname: tool\nversion: 1.0.0\n"]]);
const package_ = nupkg("Tool", "1.0.0");

const uploads: Readonly<Record<string, Upload>> = {
  generic: put("tool/1/file", Buffer.alloc(5_000, "g")),
  opm: put("tool/1/file", Buffer.alloc(5_000, "o")),
  maven: put("org/acme/tool/1.0/tool-1.0.jar", Buffer.alloc(5_000, "m")),
  cargo: put("api/v1/crates/new", crate()),
  pypi: { path: "", ...pythonForm() },
  nuget: { path: "package", ...form(part("package", package_, "p.nupkg")), method: "PUT" },
  composer: put("?version=1.0.0", composerZip({ name: "acme/tool" })),
  helm: put("charts/tool-1.0.0.tgz", chart),
  debian: put("pool/stable/main/upload", deb("tool", "1.0.0", "amd64")),
};

/** Sends so much of the body, and no more; resolves once the service has closed the connection. */
function sendPart(name: string, { method, path: where, type, body }: Upload, bytes: number) {
  const { hostname, port } = new URL(app.url);
  const target = `/registry/project/anna/forge/repository/${name}/${where}`;
  const head = [
    `${method} ${target} HTTP/1.1`,
    `Host: ${hostname}:${port}`,
    `Authorization: Bearer ${anna.token}`,
    `Content-Type: ${type}`,
    `Content-Length: ${body.length}`,
  ];
  return new Promise<void>((resolve) => {
    const socket = connect(Number(port), hostname, () => {
      socket.write(`${head.join("\r\n")}\r\n\r\n`);
      socket.end(body.subarray(0, bytes));
    });
    socket.on("error", () => undefined).once("close", () => resolve());
    socket.resume();
  });
}

describe("an upload that stops at any tenth", () => {
  for (const [type, upload] of Object.entries(uploads)) {
    it(`of ${type} leaves nothing, and the whole one is taken after it`, async () => {
      await at.local(type, type);
      const stored = () => app.deps.db("package_version").count().first();
      const before = await stored();
      const cuts = Array.from({ length: 9 }, (_, n) =>
        sendPart(type, upload, Math.floor((upload.body.length * (n + 1)) / 10)),
      );
      await Promise.all(cuts);
      await eventually(async () => {
        const spooled = await readdir(path.join(app.dataDir, "blobs", "temporary")).catch(() => []);
        return spooled.length === 0 && (await held()) === 0;
      });
      expect(await stored()).to.deep.equal(before);
      const url = `${app.url}/registry/project/anna/forge/repository/${type}/${upload.path}`;
      const headers = { authorization: `Bearer ${anna.token}`, "content-type": upload.type };
      const whole = await send(upload.method, url, upload.body, headers);
      expect(whole.status, await whole.text()).to.be.within(200, 201);
      expect(await stored()).not.to.deep.equal(before);
    });
  }
});
