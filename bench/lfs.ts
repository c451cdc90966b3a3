import { createHash, randomBytes } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { open, rm } from "node:fs/promises";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { pipeline } from "node:stream/promises";

import { figure, median, timed } from "./figure.ts";
import { withService } from "./service.ts";

/**
 * Upload and download of one LFS object, against a bare node:http server in this process that hashes,
 * writes and syncs what it takes, and streams a file back.
 */
const mebibytes = Number(process.env["MEBIBYTES"] ?? 256);
const rounds = 3;
const MiB = 1024 ** 2;

await withService(async ({ service, directory, project, basic }) => {
  await project("large");
  const bare = await startBare(path.join(directory, "bare"));
  const ups = { ours: [] as number[], bare: [] as number[] };
  const downs = { ours: [] as number[], bare: [] as number[] };
  for (let round = 0; round < rounds; round += 1) {
    const file = path.join(directory, `object-${round}`);
    const oid = await fill(file);
    const at = `${service.url}/project/bench/large.git/info/lfs/objects/${oid}`;
    const up = `${at}/${mebibytes * MiB}`;
    ups.bare.push(await timed(() => send(bare.url, "PUT", "", file)));
    ups.ours.push(await timed(() => send(up, "PUT", basic, file)));
    downs.bare.push(await timed(() => send(bare.url, "GET", "")));
    downs.ours.push(await timed(() => send(at, "GET", basic)));
    await rm(file);
  }
  bare.close();
  const name = (what: string) => `LFS ${what} of ${mebibytes} MiB`;
  const held = (values: readonly number[]) => ({ name: "bare node:http", value: median(values) });
  figure(name("upload"), "ms", median(ups.ours), held(ups.bare));
  figure(name("download"), "ms", median(downs.ours), held(downs.bare));
});

async function fill(file: string): Promise<string> {
  const hash = createHash("sha256");
  const handle = await open(file, "w");
  for (let index = 0; index < mebibytes; index += 8) {
    const bytes = randomBytes(8 * MiB);
    hash.update(bytes);
    await handle.write(bytes);
  }
  await handle.close();
  return hash.digest("hex");
}

async function send(
  url: string,
  method: string,
  authorization: string,
  file?: string,
): Promise<void> {
  const length = file === undefined ? {} : { "content-length": mebibytes * MiB };
  await new Promise<void>((resolve, reject) => {
    const outgoing = request(url, { method, headers: { authorization, ...length } }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`${url}: ${response.statusCode}`));
      response.resume().once("end", resolve);
    });
    outgoing.once("error", reject);
    if (file === undefined) outgoing.end();
    else createReadStream(file, { highWaterMark: MiB }).pipe(outgoing);
  });
}

async function startBare(file: string) {
  const server = createServer(async (incoming, outgoing) => {
    if (incoming.method === "GET") {
      createReadStream(file, { highWaterMark: 256 * 1024 }).pipe(outgoing);
      return;
    }
    const hash = createHash("sha256");
    incoming.on("data", (chunk: Buffer) => hash.update(chunk));
    await pipeline(incoming, createWriteStream(file, { flush: true }));
    outgoing.end(hash.digest("hex"));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/`, close: () => server.close() };
}
