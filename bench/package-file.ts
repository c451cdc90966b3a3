import { randomBytes } from "node:crypto";
import { createReadStream } from "node:fs";
import { stat, writeFile } from "node:fs/promises";
import { Agent, createServer, get } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";

import { figure, median } from "./figure.ts";
import { benchRepository } from "./repository.ts";
import { withService } from "./service.ts";

/**
 * Downloads of a package's file, a large one and a small one, against node:http that sends the same file: bytes
 * a second of the large one, one after the other, and files a second of the small one, 16 at a time. More than
 * 1 of a ratio is faster. Run: `npx tsx bench/package-file.ts [MiB of the large file]`.
 */
const large = Number(process.argv[2] ?? 100) * 1024 ** 2;
const small = 4 * 1024;
const rounds = 5;
const files = 2_000;
const connections = 16;
const agent = new Agent({ keepAlive: true, maxSockets: connections });

await withService(async (bench) => {
  await bench.project("files");
  const repository = { repositoryName: "files", packageType: "generic" };
  const { base } = await benchRepository(bench, "files", repository);
  for (const [bytes, count] of [
    [large, 1],
    [small, files],
  ] as const) {
    const file = path.join(bench.directory, String(bytes));
    const content = randomBytes(bytes);
    await writeFile(file, content);
    const url = `${base}/tool/1.0.0/${bytes}`;
    const headers = { authorization: bench.basic };
    const stored = await fetch(url, { method: "PUT", headers, body: content });
    if (!stored.ok) throw new Error(`${url}: ${stored.status} ${await stored.text()}`);
    const bare = await startBare(file);
    const ours: number[] = [];
    const theirs: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      theirs.push(await perSecond(bare.url, bench.basic, count));
      ours.push(await perSecond(url, bench.basic, count));
    }
    bare.close();
    const baseline = { name: "bare node:http", value: median(theirs) };
    figure(`download of ${bytes} bytes`, "files/s", median(ours), baseline);
  }
});
agent.destroy();

async function startBare(file: string) {
  const server = createServer(async (_request, response) => {
    const { size } = await stat(file);
    response.setHeader("content-length", size);
    createReadStream(file).pipe(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/`, close: () => server.close() };
}

async function perSecond(url: string, authorization: string, count: number): Promise<number> {
  const start = performance.now();
  let left = count;
  const worker = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await download(url, authorization);
    }
  };
  await Promise.all(Array.from({ length: Math.min(count, connections) }, worker));
  return count / ((performance.now() - start) / 1_000);
}

function download(url: string, authorization: string): Promise<void> {
  return new Promise((resolve, reject) => {
    get(url, { agent, headers: { authorization } }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`${url}: ${response.statusCode}`));
      response.resume().once("end", resolve).once("error", reject);
    }).once("error", reject);
  });
}
