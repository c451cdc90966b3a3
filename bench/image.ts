import { createHash, randomBytes } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { request } from "node:http";
import path from "node:path";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Worker } from "node:worker_threads";

import { figure, median, timed } from "./figure.ts";
import { benchRepository } from "./repository.ts";
import { type BenchService, withService } from "./service.ts";

/**
 * Push and pull of an image of 20 layers, 4 at a time, against copying the same files while they are hashed: medians of
 * rounds, in each of which the copy is measured right before the push and right before the pull. What `http` takes of the
 * processor is held against what the copy takes, and the most memory that a process of the service had at one time against
 * 200 MiB. A ratio under 1 is faster than the copy. A pull from a bare node:http, on a thread of its own, shows what the
 * client itself takes, which receives, hashes and writes on one thread. Run: `npx tsx bench/image.ts [MiB of the image]`.
 */
const mebibytes = Number(process.argv[2] ?? 256);
const layersMax = 20;
const parallel = 4;
const rounds = 7;
const MiB = 1024 ** 2;
/** Of the times in `/proc`. */
const tickMs = 10;

const bareServer = `
const { createReadStream, statSync } = require("node:fs");
const { parentPort, workerData } = require("node:worker_threads");
const server = require("node:http").createServer((request, response) => {
  const file = workerData + request.url;
  response.setHeader("content-length", statSync(file).size);
  createReadStream(file).pipe(response);
});
server.listen(0, "127.0.0.1", () => parentPort.postMessage(server.address().port));
`;

type Layer = Readonly<{ file: string; bytes: number; digest: string }>;
type Cost = Readonly<{ ms: number; processorMs: number }>;

await withService(async (bench) => {
  await bench.project("images");
  await benchRepository(bench, "images", { repositoryName: "images", packageType: "container" });
  const layers = await givenLayers(bench.directory);
  const pid = await bench.service.pidOf("http");
  const copied = (layer: Layer) => copy(createReadStream(layer.file), `${layer.file}.copy`);
  const costs = { push: [] as Cost[], pull: [] as Cost[] };
  const copies = { push: [] as Cost[], pull: [] as Cost[] };
  const bare = await startBare(bench.directory);
  const bareMs: number[] = [];
  for (let round = -1; round < rounds; round += 1) {
    const image = `${bench.service.url}/v2/bench/images/images/app${round}/blobs`;
    for (const [what, transfer] of [
      ["push", push],
      ["pull", pull],
    ] as const) {
      const before = await costOf(process.pid, () => each(layers, copied));
      const own = await costOf(pid, () => each(layers, (layer) => transfer(image, layer, bench)));
      if (round < 0) continue;
      copies[what].push(before);
      costs[what].push(own);
    }
    const pulled = await timed(() => each(layers, (layer) => receive(bare.of(layer), layer, "")));
    if (round >= 0) bareMs.push(pulled);
  }
  for (const what of ["push", "pull"] as const) {
    const name = `${what} of ${mebibytes} MiB in ${layersMax} layers`;
    for (const [kind, field] of [
      ["", "ms"],
      [", processor", "processorMs"],
    ] as const) {
      const value = median(copies[what].map((cost) => cost[field]));
      const own = median(costs[what].map((cost) => cost[field]));
      figure(`${name}${kind}`, "ms", own, { name: "copy and hash", value });
    }
  }
  await bare.close();
  const value = median(copies.pull.map(({ ms }) => ms));
  const copying = { name: "copy and hash", value };
  figure("pull of the same from a bare node:http", "ms", median(bareMs), copying);
  for (const name of ["http", "projections", "workers"]) {
    const status = await readFile(`/proc/${await bench.service.pidOf(name)}/status`, "utf8");
    const kibibytes = Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]);
    figure(`peak memory of ${name}`, "MiB", kibibytes / 1024, { name: "bound", value: 200 });
  }
});

/** What it takes, of the clock and of the processor of a process. */
async function costOf(pid: number, run: () => Promise<unknown>): Promise<Cost> {
  const before = await processorMs(pid);
  const ms = await timed(run);
  return { ms, processorMs: (await processorMs(pid)) - before };
}

async function processorMs(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * tickMs;
}

async function givenLayers(folder: string): Promise<readonly Layer[]> {
  const bytes = Math.floor((mebibytes * MiB) / layersMax);
  return await Promise.all(
    Array.from({ length: layersMax }, async (_, index) => {
      const content = randomBytes(bytes);
      const file = path.join(folder, String(index));
      await writeFile(file, content);
      const hex = createHash("sha256").update(content).digest("hex");
      return { file, bytes, digest: `sha256:${hex}` };
    }),
  );
}

async function each(layers: readonly Layer[], run: (layer: Layer) => Promise<unknown>) {
  const left = [...layers];
  const worker = async (): Promise<void> => {
    for (let layer = left.pop(); layer !== undefined; layer = left.pop()) await run(layer);
  };
  await Promise.all(Array.from({ length: parallel }, worker));
}

async function copy(from: NodeJS.ReadableStream, to: string): Promise<string> {
  const hash = createHash("sha256");
  const hashing = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      done(null, chunk);
    },
  });
  await pipeline(from, hashing, createWriteStream(to, { flush: true }));
  return `sha256:${hash.digest("hex")}`;
}

function push(image: string, layer: Layer, { basic }: BenchService): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: basic, "content-length": layer.bytes };
    const url = `${image}/uploads/?digest=${layer.digest}`;
    const outgoing = request(url, { method: "POST", headers }, (answer) => {
      answer.resume().once("end", resolve);
      if (answer.statusCode !== 201) reject(new Error(`push answered ${answer.statusCode}`));
    });
    outgoing.once("error", reject);
    createReadStream(layer.file).pipe(outgoing);
  });
}

function pull(image: string, layer: Layer, { basic }: BenchService): Promise<void> {
  return receive(`${image}/${layer.digest}`, layer, basic);
}

function receive(url: string, { file, digest }: Layer, authorization: string): Promise<void> {
  return new Promise((resolve, reject) => {
    request(url, { headers: { authorization } }, (answer) => {
      if (answer.statusCode !== 200) reject(new Error(`pull answered ${answer.statusCode}`));
      copy(answer, `${file}.pulled`).then((found) => {
        if (found === digest) resolve();
        else reject(new Error(`${digest} came as ${found}`));
      }, reject);
    })
      .once("error", reject)
      .end();
  });
}

/** Sends the files of a folder. */
async function startBare(folder: string) {
  const worker = new Worker(bareServer, { eval: true, workerData: folder });
  const port = await new Promise<number>((resolve) => worker.once("message", resolve));
  return {
    of: ({ file }: Layer) => `http://127.0.0.1:${port}/${path.basename(file)}`,
    close: () => worker.terminate(),
  };
}
