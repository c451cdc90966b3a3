import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";

import { composerZip, conda, deb, npmTarball, rpm, tar, tgz, wheel, zip } from "../git/archive.ts";

/** How a file of a package is sent to the repository of its type. */
export type Sending = Readonly<{
  method: "PUT" | "POST";
  path: string;
  type?: string;
  body: Buffer;
}>;

const sha256 = (content: Buffer) => createHash("sha256").update(content).digest("hex");
const put = (path: string, body: Buffer): Sending => ({ method: "PUT", path, body });
const escaped = (name: string) => name.replace("/", "%2f");

/** Uploads of each type whose client parses what they say: the version, and the texts of the manifest beside it. */
export const sendings = {
  npm(manifest: Readonly<{ name: string; version: string; [field: string]: unknown }>): Sending {
    const { name, version } = manifest;
    const content = npmTarball(manifest);
    const attachment = { data: content.toString("base64"), length: content.length };
    const file = `${name.replace(/^@[^/]+\//, "")}-${version}.tgz`;
    const document = {
      ...{ _id: name, name, "dist-tags": { latest: version } },
      versions: { [version]: manifest },
      _attachments: { [file]: { content_type: "application/octet-stream", ...attachment } },
    };
    const body = Buffer.from(JSON.stringify(document));
    return { ...put(escaped(name), body), type: "application/json" };
  },
  cargo(name: string, vers: string, more = ""): Sending {
    const toml = `[package]\nname = "${name}"\nversion = "${vers}"\nedition = "2021"\ndescription = "d"\nlicense = "MIT"\n${more}`;
    const document = Buffer.from(JSON.stringify({ name, vers }));
    const at = `${name}-${vers}`;
    const content = tgz([
      [`${at}/Cargo.toml`, toml],
      [`${at}/src/lib.rs`, ""],
    ]);
    const parts = [document, content].flatMap((part) => {
      const length = Buffer.alloc(4);
      length.writeUInt32LE(part.length);
      return [length, part];
    });
    return put("api/v1/crates/new", Buffer.concat(parts));
  },
  pypi(name: string, version: string, more = ""): Sending {
    const boundary = "the-boundary";
    const head = (field: string, file = "") =>
      `--${boundary}\r\nContent-Disposition: form-data; name="${field}"${file}\r\n\r\n`;
    const field = (key: string, value: string) => `${head(key)}${value}\r\n`;
    const body = Buffer.concat([
      Buffer.from(
        field(":action", "file_upload") + field("name", name) + field("version", version),
      ),
      Buffer.from(head("content", `; filename="${name}-${version}-py3-none-any.whl"`)),
      wheel(name, version, more),
      Buffer.from(`\r\n--${boundary}--\r\n`),
    ]);
    return { method: "POST", path: "", type: `multipart/form-data; boundary=${boundary}`, body };
  },
  composer: (version: string, manifest: Readonly<Record<string, unknown>>): Sending =>
    put(`?version=${encodeURIComponent(version)}`, composerZip(manifest)),
  rubygem(name: string, number: string, more = "dependencies: []\n"): Sending {
    const specification = `--- !ruby/object:Gem::Specification\nname: ${name}\nversion: !ruby/object:Gem::Version\n  version: ${number}\nplatform: ruby\nauthors:\n- Anna\ndate: 2026-01-02 00:00:00.000000000 Z\nsummary: A tool\nfiles: []\nspecification_version: 4\nrequire_paths:\n- lib\n${more}`;
    const metadata = gzipSync(specification);
    const data = tgz([["lib/x.rb", ""]]);
    const sums = `---\nSHA256:\n  metadata.gz: ${sha256(metadata)}\n  data.tar.gz: ${sha256(data)}\n`;
    const body = tar([
      ["metadata.gz", metadata],
      ["data.tar.gz", data],
      ["checksums.yaml.gz", gzipSync(sums)],
    ]);
    return { method: "POST", path: "api/v1/gems", body };
  },
  helm: (name: string, version: string, more = "apiVersion: v2\n"): Sending =>
    put(
      `charts/${name}-${version}.tgz`,
      tgz([[`${name}/Chart.yaml`, `name: ${name}\nversion: ${version}\n${more}`]]),
    ),
  debian: (name: string, version: string, more = ""): Sending =>
    put("pool/stable/main/upload", deb(name, version, "amd64", more)),
  cran: (name: string, version: string, more = ""): Sending =>
    put(
      `src/contrib/${name}_${version}.tar.gz`,
      tgz([
        [
          `${name}/DESCRIPTION`,
          `Package: ${name}\nVersion: ${version}\nTitle: Tools\nAuthor: A\nMaintainer: A <a@example.org>\nDescription: Tools.\nLicense: MIT\n${more}`,
        ],
        [`${name}/NAMESPACE`, ""],
      ]),
    ),
  conda: (name: string, version: string, more: object = {}): Sending =>
    put(
      `linux-64/${name}-${version}-py_0.conda`,
      conda({ name, version, build: "py_0", subdir: "linux-64", ...more }),
    ),
  rpm: (name: string, version: string, release = "1"): Sending =>
    put("upload", rpm(name, version, release)),
  conan: (name: string, version: string): Sending =>
    put(
      `v2/conans/${[name, version].map(encodeURIComponent).join("/")}/_/_/revisions/${"a".repeat(32)}/files/conanfile.py`,
      Buffer.from("from conan import ConanFile\n"),
    ),
  go: (module: string, version: string, mod = ""): Sending =>
    put("upload", zip([[`${module}@${version}/go.mod`, `module ${module}\n${mod}`]])),
};
