import { createHash, randomBytes } from "node:crypto";

import { type ArchiveFile, tgz } from "../test/support/git/archive.ts";

/** How a version of a package is uploaded to a repository, and where the index is that shows it. */
export type BenchType = Readonly<{
  name: string;
  index: string;
  /** The name of the package is `tool`. */
  upload: (base: string, version: string, authorization: string) => Promise<Response>;
}>;

const put = (url: string, authorization: string, body: string | Buffer, type: string) =>
  fetch(url, {
    method: "PUT",
    headers: { authorization, "content-type": type },
    body: typeof body === "string" ? body : new Uint8Array(body),
  });

const bytes = "application/octet-stream";
/** Of other content each time. */
const archive = (folder: string, files: readonly ArchiveFile[]) =>
  tgz([
    ...files.map(([name, content]) => [`${folder}/${name}`, content] as const),
    [`${folder}/random`, randomBytes(64)],
  ]);

function crate(version: string): Buffer {
  const manifest = `[package]\nname = "tool"\nversion = "${version}"\nedition = "2021"\ndescription = "A tool"\nlicense = "MIT"\n[dependencies]\nserde = "1"\nlog = "0.4"\n`;
  const content = archive(`tool-${version}`, [["Cargo.toml", manifest]]);
  const document = Buffer.from(JSON.stringify({ name: "tool", vers: version }));
  const lengths = [document, content].map(({ length }) => {
    const field = Buffer.alloc(4);
    field.writeUInt32LE(length);
    return field;
  });
  return Buffer.concat([lengths[0]!, document, lengths[1]!, content]);
}

function publication(version: string): string {
  const dependencies = { left: "^1.0.0", right: "^2.0.0", middle: "~3.1.0" };
  const manifest = { name: "tool", version, description: "A tool", license: "MIT", dependencies };
  const content = archive("package", [["package.json", JSON.stringify(manifest)]]);
  return JSON.stringify({
    _id: "tool",
    name: "tool",
    "dist-tags": { latest: version },
    versions: { [version]: manifest },
    _attachments: {
      [`tool-${version}.tgz`]: {
        content_type: bytes,
        data: content.toString("base64"),
        length: content.length,
      },
    },
  });
}

function sdist(base: string, version: string, authorization: string): Promise<Response> {
  const information = `Metadata-Version: 2.1\nName: tool\nVersion: ${version}\n`;
  const content = archive(`tool-${version}`, [["PKG-INFO", information]]);
  const form = new FormData();
  const sha256_digest = createHash("sha256").update(content).digest("hex");
  const fields = { name: "tool", version, filetype: "sdist", sha256_digest };
  const all = { ":action": "file_upload", protocol_version: "1", metadata_version: "2.1" };
  for (const [name, value] of Object.entries({ ...all, ...fields })) form.append(name, value);
  form.append("content", new Blob([new Uint8Array(content)]), `tool-${version}.tar.gz`);
  return fetch(`${base}/`, { method: "POST", headers: { authorization }, body: form });
}

function chart(version: string): Buffer {
  const text = `apiVersion: v2\nname: tool\nversion: ${version}\ndescription: A tool\n`;
  return archive("tool", [["Chart.yaml", text]]);
}

const url = (base: string, version: string) => `${base}/org/acme/tool/${version}`;

export const benchTypes: readonly BenchType[] = [
  {
    name: "npm",
    index: "tool",
    upload: (base, version, authorization) =>
      put(`${base}/tool`, authorization, publication(version), "application/json"),
  },
  {
    name: "cargo",
    index: "index/to/ol/tool",
    upload: (base, version, authorization) =>
      put(`${base}/api/v1/crates/new`, authorization, crate(version), bytes),
  },
  { name: "pypi", index: "simple/tool/", upload: sdist },
  {
    name: "maven",
    index: "org/acme/tool/maven-metadata.xml",
    upload: (base, version, authorization) =>
      put(`${url(base, version)}/tool-${version}.jar`, authorization, randomBytes(64), bytes),
  },
  {
    name: "helm",
    index: "index.yaml",
    upload: (base, version, authorization) =>
      put(`${base}/charts/tool-${version}.tgz`, authorization, chart(version), bytes),
  },
];
