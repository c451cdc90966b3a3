import { createHash, randomBytes } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { request } from "node:http";
import path from "node:path";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";

import { figure, median, timed } from "./figure.ts";
import { benchRepository } from "./repository.ts";
import { type BenchService, withService } from "./service.ts";

/**
 * Push and pull of an image of 20 layers, 4 at a time, against copying the same files while they are hashed, and
 * the most memory that a process of the service had at one time, against 200 MiB. A ratio under 1 is faster than
 * the copy. Run: `npx tsx bench/image.ts [MiB of the image]`.
 */
const mebibytes = Number(process.argv[2] ?? 256);
const layersMax = 20;
const parallel = 4;
const rounds = 3;
const MiB = 1024 ** 2;

type Layer = Readonly<{ file: string; bytes: number; digest: string }>;

await withService(async (bench) => {
  await bench.project("images");
  await benchRepository(bench, "images", { repositoryName: "images", packageType: "container" });
  const times = { push: [] as number[], pull: [] as number[], copy: [] as number[] };
  for (let round = 0; round < rounds; round += 1) {
    const folder = path.join(bench.directory, `round-${round}`);
    await mkdir(folder);
    const layers = await givenLayers(folder);
    const image = `${bench.service.url}/v2/bench/images/images/app${round}/blobs`;
    const copied = (layer: Layer) => copy(createReadStream(layer.file), `${layer.file}.copy`);
    times.copy.push(await timed(() => each(layers, copied)));
    times.push.push(await timed(() => each(layers, (layer) => push(image, layer, bench))));
    times.pull.push(await timed(() => each(layers, (layer) => pull(image, layer, bench))));
  }
  const copy1 = { name: "copy and hash", value: median(times.copy) };
  for (const what of ["push", "pull"] as const) {
    figure(`${what} of ${mebibytes} MiB in ${layersMax} layers`, "ms", median(times[what]), copy1);
  }
  for (const name of ["http", "projections", "workers"]) {
    const status = await readFile(`/proc/${await bench.service.pidOf(name)}/status`, "utf8");
    const kibibytes = Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]);
    figure(`peak memory of ${name}`, "MiB", kibibytes / 1024, { name: "bound", value: 200 });
  }
});

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

function pull(image: string, { file, digest }: Layer, { basic }: BenchService): Promise<void> {
  return new Promise((resolve, reject) => {
    request(`${image}/${digest}`, { headers: { authorization: basic } }, (answer) => {
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
