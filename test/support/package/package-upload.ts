import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";

import {
  type ArchiveFile,
  ar,
  conda,
  debControl,
  rpm,
  tar,
  tgz,
  wheel,
  zip,
} from "../git/archive.ts";

/** How a file of a package comes into a repository of its type; paths are below the repository's own. */
export type PackageUpload = Readonly<{
  method: string;
  path: string;
  /** Of the body. */
  type: string;
  body: Buffer;
  /** Where the file is then, with these bytes. */
  file: string;
  content: Buffer;
  /** Shows the package. */
  index: string;
}>;

const boundary = "the-boundary";
const bytesType = "application/octet-stream";
const sha256 = (content: Buffer) => createHash("sha256").update(content).digest("hex");

const part = (name: string, content: Buffer | string, fileName?: string) =>
  Buffer.concat([
    Buffer.from(
      `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${fileName === undefined ? "" : `; filename="${fileName}"`}\r\n\r\n`,
    ),
    Buffer.from(content),
    Buffer.from("\r\n"),
  ]);
const form = (...parts: readonly Buffer[]) => ({
  type: `multipart/form-data; boundary=${boundary}`,
  body: Buffer.concat([...parts, Buffer.from(`--${boundary}--\r\n`)]),
});

type Places = Readonly<{ path?: string; method?: string; file?: string; index?: string }>;

/** A body that is the file. */
const put = (content: Buffer, { path = "upload", method = "PUT", ...places }: Places) => ({
  ...{ method, path, type: bytesType, body: content, content, file: path, index: path },
  ...places,
});

function npm(filler: ArchiveFile): PackageUpload {
  const manifest = { name: "tool", version: "1.0.0" };
  const content = tgz([["package/package.json", JSON.stringify(manifest)], filler]);
  const attachment = {
    content_type: bytesType,
    data: content.toString("base64"),
    length: content.length,
  };
  const document = {
    ...{ _id: "tool", name: "tool", "dist-tags": { latest: "1.0.0" } },
    versions: { "1.0.0": manifest },
    _attachments: { "tool-1.0.0.tgz": attachment },
  };
  const body = Buffer.from(JSON.stringify(document));
  const places = { path: "tool", file: "tool/-/tool-1.0.0.tgz", index: "tool" };
  return { ...put(content, places), type: "application/json", body };
}

function cargo(filler: ArchiveFile): PackageUpload {
  const toml = '[package]\nname = "tool"\nversion = "1.0.0"\ndescription = "d"\nlicense = "MIT"\n';
  const document = Buffer.from(JSON.stringify({ name: "tool", vers: "1.0.0" }));
  const content = tgz([["tool-1.0.0/Cargo.toml", toml], filler]);
  const [first, second] = [document, content].map(({ length }) => {
    const field = Buffer.alloc(4);
    field.writeUInt32LE(length);
    return field;
  }) as [Buffer, Buffer];
  const file = "api/v1/crates/tool/1.0.0/download";
  return {
    ...put(content, { path: "api/v1/crates/new", file, index: "to/ol/tool" }),
    body: Buffer.concat([first, document, second, content]),
  };
}

function pypi(seed: string): PackageUpload {
  const content = wheel("tool", "1.0.0", `Description: ${seed}\n`);
  const fields = { ":action": "file_upload", protocol_version: "1", metadata_version: "2.1" };
  const sha256_digest = sha256(content);
  const all = { ...fields, name: "tool", version: "1.0.0", filetype: "bdist_wheel", sha256_digest };
  const parts = Object.entries(all).map(([name, value]) => part(name, value));
  const name = "tool-1.0.0-py3-none-any.whl";
  const places = { path: "", file: `files/tool/1.0.0/${name}`, index: "simple/tool/" };
  return {
    ...put(content, { ...places, method: "POST" }),
    ...form(...parts, part("content", content, name)),
  };
}

function nuget(filler: ArchiveFile): PackageUpload {
  const nuspec =
    '<?xml version="1.0"?><package><metadata><id>Tool</id><version>1.0.0</version></metadata></package>';
  const content = zip([["Tool.nuspec", nuspec], filler]);
  const places = { file: "flat/tool/1.0.0/tool.1.0.0.nupkg", index: "flat/tool/index.json" };
  return {
    ...put(content, { path: "package", ...places }),
    ...form(part("package", content, "p.nupkg")),
  };
}

function gem(filler: ArchiveFile): Buffer {
  const specification =
    "--- !ruby/object:Gem::Specification\nname: tool\nversion: !ruby/object:Gem::Version\n  version: 1.0.0\nplatform: ruby\nauthors:\n- Anna\ndate: 2026-01-02 00:00:00.000000000 Z\ndependencies: []\nspecification_version: 4\nsummary: A tool\n";
  const metadata = gzipSync(specification);
  const data = tgz([filler]);
  const sums = `---\nSHA256:\n  metadata.gz: ${sha256(metadata)}\n  data.tar.gz: ${sha256(data)}\n`;
  return tar([
    ["metadata.gz", metadata],
    ["data.tar.gz", data],
    ["checksums.yaml.gz", gzipSync(sums)],
  ]);
}

const deb = (filler: ArchiveFile) =>
  ar([
    ["debian-binary", "2.0\n"],
    ["control.tar.gz", tgz([["./control", debControl("tool", "1.0.0", "amd64")]])],
    ["data.tar.gz", tgz([filler])],
  ]);

const conanRevision = `v2/conans/tool/1.0/_/_/revisions/${"a".repeat(32)}/files`;
const condaIndex = { name: "tool", version: "1.0", build: "py_0", subdir: "linux-64" };

/** An upload of each type of package but images; the bytes of every file are others for another seed. */
export function packageUploads(seed: string): Readonly<Record<string, PackageUpload>> {
  const of = (name: string): ArchiveFile => [name, seed];
  const plain = (letter: string) => Buffer.from(`${seed}${letter.repeat(5_000)}`);
  const description = "Package: tool\nVersion: 1.0.0\nTitle: Tools\nLicense: MIT\n";
  const module = "example.org/tool";
  return {
    generic: put(plain("g"), { path: "tool/1/file" }),
    opm: put(plain("o"), { path: "tool/1/file" }),
    maven: put(plain("m"), {
      path: "org/acme/tool/1.0/tool-1.0.jar",
      index: "org/acme/tool/maven-metadata.xml",
    }),
    npm: npm(of("package/seed")),
    cargo: cargo(of("tool-1.0.0/seed")),
    pypi: pypi(seed),
    nuget: nuget(of("seed")),
    composer: put(zip([["composer.json", '{"name":"acme/tool"}'], of("seed")]), {
      path: "?version=1.0.0",
      file: "dist/acme/tool/1.0.0/acme-tool-1.0.0.zip",
      index: "p2/acme/tool.json",
    }),
    helm: put(
      tgz([["tool/Chart.yaml", "apiVersion: v2\nname: tool\nversion: 1.0.0\n"], of("tool/seed")]),
      { path: "charts/tool-1.0.0.tgz", file: "charts/tool/tool-1.0.0.tgz", index: "index.yaml" },
    ),
    debian: put(deb(of("./seed")), {
      path: "pool/stable/main/upload",
      file: "pool/stable/main/tool/0/tool_1.0.0_amd64.deb",
      index: "dists/stable/main/binary-amd64/Packages",
    }),
    rpm: put(
      rpm("tool", "1.0.0", "1", [
        [1080, 4, [1]],
        [1081, 8, [seed]],
        [1082, 8, ["- First"]],
      ]),
      {
        file: "packages/tool/0/tool-1.0.0-1.noarch.rpm",
        index: "repodata/repomd.xml",
      },
    ),
    rubygem: put(gem(of("seed")), {
      ...{ method: "POST", path: "api/v1/gems" },
      ...{ file: "gems/tool-1.0.0.gem", index: "info/tool" },
    }),
    cran: put(tgz([["tool/DESCRIPTION", description], of("tool/seed")]), {
      path: "src/contrib/tool_1.0.0.tar.gz",
      index: "src/contrib/PACKAGES",
    }),
    conda: put(conda(condaIndex, [of("seed")]), {
      path: "linux-64/tool-1.0-py_0.conda",
      index: "linux-64/repodata.json",
    }),
    conan: put(Buffer.from(`1700000000\nconanfile.py: ${sha256(Buffer.from(seed)).slice(32)}\n`), {
      path: `${conanRevision}/conanmanifest.txt`,
      index: "v2/conans/tool/1.0/_/_/latest",
    }),
    go: put(zip([[`${module}@v1.0.0/go.mod`, `module ${module}\n`], of(`${module}@v1.0.0/seed`)]), {
      file: `${module}/@v/v1.0.0.zip`,
      index: `${module}/@v/list`,
    }),
  };
}
