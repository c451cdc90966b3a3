import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { promisify } from "node:util";

import { tgz } from "../test/support/git/archive.ts";
import { figure, median, timed } from "./figure.ts";
import { benchRepository } from "./repository.ts";
import { type BenchService, withService } from "./service.ts";

/**
 * `npm install` of 300 packages through a proxy repository that has them, against the node:http server that it has
 * them from, each time with an empty cache. Run: `npx tsx bench/npm-install.ts [packages]`.
 */
const packages = Number(process.argv[2] ?? 300);
const rounds = 3;

const names = Array.from({ length: packages }, (_, index) => `bench-package-${index}`);
const upstream = await startUpstream();
try {
  await withService(
    async (bench) => {
      await bench.project("packages");
      const proxySettings = {
        ...{ url: upstream.url, isCaching: true },
        ...{ metadataRetrievalIntervalSeconds: 86_400 },
      };
      const proxy = { repositoryName: "npm", packageType: "npm", type: "PROXY", proxySettings };
      const { base } = await benchRepository(bench, "packages", proxy);
      await install(bench, "warm", base);
      const times = { ours: [] as number[], bare: [] as number[] };
      for (let round = 0; round < rounds; round += 1) {
        times.bare.push(await timed(() => install(bench, `bare-${round}`, upstream.url)));
        times.ours.push(await timed(() => install(bench, `ours-${round}`, base)));
      }
      const baseline = { name: "static node:http", value: median(times.bare) };
      figure(`npm install of ${packages} packages`, "ms", median(times.ours), baseline);
    },
    { OUTBOUND_ALLOW: "127.0.0.1/32" },
  );
} finally {
  upstream.close();
}

async function install({ directory, basic }: BenchService, name: string, registry: string) {
  const cwd = path.join(directory, name);
  await mkdir(cwd);
  const dependencies = Object.fromEntries(names.map((each) => [each, "1.0.0"]));
  await writeFile(
    path.join(cwd, "package.json"),
    JSON.stringify({ name: "bench", version: "1.0.0", dependencies }),
  );
  const key = registry.replace(/^http:/, "");
  const auth = basic.replace("Basic ", "");
  await writeFile(path.join(cwd, ".npmrc"), `registry=${registry}/\n${key}/:_auth=${auth}\n`);
  const flags = ["--no-audit", "--no-fund", "--ignore-scripts", "--cache", path.join(cwd, "cache")];
  await promisify(execFile)("npm", ["install", ...flags], { cwd, maxBuffer: 16 * 1024 ** 2 });
}

/** Serves what it has made before. */
async function startUpstream() {
  const answers = new Map<string, Buffer>();
  const server = createServer(({ url = "" }, response) => {
    const body = answers.get(url);
    if (body === undefined) return response.writeHead(404).end();
    const type = url.endsWith(".tgz") ? "application/octet-stream" : "application/json";
    response.writeHead(200, { "content-type": type, "content-length": body.length }).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  for (const name of names) {
    const manifest = { name, version: "1.0.0", description: "One of many", main: "index.js" };
    const tarball = tgz([
      ["package/package.json", JSON.stringify(manifest)],
      ["package/index.js", `module.exports = ${JSON.stringify(name.repeat(100))};\n`],
    ]);
    const integrity = `sha512-${createHash("sha512").update(tarball).digest("base64")}`;
    const dist = { tarball: `${url}/${name}/-/${name}-1.0.0.tgz`, integrity };
    const versions = { "1.0.0": { ...manifest, dist } };
    const document = { name, "dist-tags": { latest: "1.0.0" }, versions };
    answers.set(`/${name}`, Buffer.from(JSON.stringify(document)));
    answers.set(`/${name}/-/${name}-1.0.0.tgz`, tarball);
  }
  return { url, close: () => server.close() };
}
