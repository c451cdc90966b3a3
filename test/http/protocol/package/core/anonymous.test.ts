import { expect } from "chai";

import { basicAuth } from "../../../../support/app/basic-auth.ts";
import { startRegistryApp } from "../../../../support/client/registry.ts";
import { type PackageUpload, packageUploads } from "../../../../support/package/package-upload.ts";

const { anna, at, baseOf } = await startRegistryApp({ reachesLoopback: true });
const uploads = packageUploads("anonymous");

const simple = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html";
const java = {
  "user-agent": "Java/17.0.9",
  accept: "text/html, image/gif, image/jpeg, */*; q=0.2",
};
/** What clients send with their reads, where it is more than a name. */
const clients: Readonly<Record<string, readonly Record<string, string>[]>> = {
  pypi: [
    { "user-agent": "uv/0.9.5", accept: `${simple};q=0.2, text/html;q=0.01` },
    { "user-agent": "pip/25.1", accept: `${simple}; q=0.1, text/html; q=0.01` },
    { "user-agent": "pip/19.0", accept: "text/html" },
  ],
  npm: [
    {
      "user-agent": "npm/11.6.0 node/v20.19.0 linux x64 workspaces/false",
      accept: "application/vnd.npm.install-v1+json; q=1.0, application/json; q=0.8, */*",
    },
  ],
  maven: [java, { "user-agent": "Apache-Maven/3.9.9 (Java 17.0.9; Linux 6.1)" }],
  nuget: [{ "user-agent": "NuGet Command Line/7.0.0", accept: "application/json" }],
  debian: [{ "user-agent": "Debian APT-HTTP/1.3 (2.6.1)", accept: "text/*" }],
  composer: [{ "user-agent": "Composer/2.8.1", accept: "*/*" }],
};
const headersOf = (type: string) => clients[type] ?? [];

async function stored(type: string, upload: PackageUpload): Promise<void> {
  await at.local(type, type, { hasAnonymousAccess: true });
  const answer = await fetch(`${baseOf(type)}/${upload.path}`, {
    method: upload.method,
    headers: { authorization: basicAuth("anna", anna.token), "content-type": upload.type },
    body: new Uint8Array(upload.body),
  });
  expect(answer.ok, `${type} ${answer.status} ${await answer.text()}`).to.equal(true);
}

type Read = Pick<PackageUpload, "index" | "file" | "content">;

async function expectReads(
  base: string,
  { index, file, content }: Read,
  clients: readonly Readonly<Record<string, string>>[],
) {
  for (const headers of clients) {
    for (const path of [index, file]) {
      const answer = await fetch(`${base}/${path}`, { headers, redirect: "manual" });
      const bytes = Buffer.from(await answer.arrayBuffer());
      const what = `${path} ${headers["user-agent"]} ${answer.headers.get("location")}`;
      expect(answer.status, `${what} ${bytes.toString().slice(0, 200)}`).to.equal(200);
      if (path === file && file !== index) expect(bytes.equals(content), what).to.equal(true);
    }
  }
}

describe("a client without credentials", () => {
  // What every type answers to any client is part of type/rules.test.ts.
  for (const [type, upload] of Object.entries(uploads).filter(([type]) => type in clients)) {
    it(`reads a package of ${type} where the repository is open to everybody`, async () => {
      await stored(type, upload);
      await expectReads(baseOf(type), upload, headersOf(type));
    });
  }

  for (const [type, index] of [
    ["pypi", "/simple/"],
    ["npm", "/"],
    ["maven", "/"],
    ["nuget", "/index.json"],
  ] as const) {
    it(`may be a proxy of ${type}, which then serves the package`, async () => {
      await at.proxy(`${type}-proxy`, type, { url: `${baseOf(type)}${index}` });
      const authorization = basicAuth("anna", anna.token);
      const upload = uploads[type] as PackageUpload;
      // A proxy knows no version of a file before it has the file.
      const file = upload.file.replace(/^files\/tool\/[^/]+/, "files/tool/-");
      const clients = headersOf(type).map((headers) => ({ ...headers, authorization }));
      await expectReads(baseOf(`${type}-proxy`), { ...upload, file }, clients);
    });
  }
});
