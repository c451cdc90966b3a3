import { execFile } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";

import { figure, median, timed } from "./figure.ts";
import { benchRepository } from "./repository.ts";
import { type BenchService, withService } from "./service.ts";

/**
 * Push and pull of an image of 20 layers by a real client, `skopeo copy` between a directory and the service, against
 * `skopeo copy` from that directory to another, which copies and hashes the same files, and `sync` of these files, as
 * the service syncs what it stores. In turn, medians of rounds. Run: `npx tsx bench/image-client.ts [MiB of the image]`.
 */
const mebibytes = Number(process.argv[2] ?? 256);
const layersMax = 20;
const rounds = 5;
const run = promisify(execFile);

type Blob = Readonly<{ mediaType: string; size: number; digest: string }>;

await withService(async (bench) => {
  await bench.project("images");
  await benchRepository(bench, "images", { repositoryName: "images", packageType: "container" });
  const image = path.join(bench.directory, "image");
  const times = { copied: [] as number[], pushed: [] as number[], pulled: [] as number[] };
  for (let round = -1; round < rounds; round += 1) {
    // A new one each time: the client has blobs that it pushed before mounted from there.
    await writeImage(image);
    const to = (name: string) => path.join(bench.directory, name);
    const stored = `docker://${new URL(bench.service.url).host}/bench/images/images/app${round}:1`;
    const copied = await timed(() => copy(bench, `dir:${image}`, `dir:${to("copy")}`, to("copy")));
    const pushed = await timed(() => copy(bench, `dir:${image}`, stored));
    const pulled = await timed(() => copy(bench, stored, `dir:${to("pull")}`, to("pull")));
    for (const name of ["image", "copy", "pull"]) await rm(to(name), { recursive: true });
    if (round < 0) continue;
    times.copied.push(copied);
    times.pushed.push(pushed);
    times.pulled.push(pulled);
  }
  const baseline = { name: "copied by the same client", value: median(times.copied) };
  const name = `of ${mebibytes} MiB in ${layersMax} layers by skopeo`;
  figure(`push ${name}`, "ms", median(times.pushed), baseline);
  figure(`pull ${name}`, "ms", median(times.pulled), baseline);
});

/** @param synced folder whose files are on the disk in the end */
async function copy(
  { basic }: BenchService,
  from: string,
  to: string,
  synced?: string,
): Promise<void> {
  const credentials = Buffer.from(basic.slice("Basic ".length), "base64").toString();
  const options = (side: string, at: string) =>
    at.startsWith("docker:") ? [`--${side}-tls-verify=false`, `--${side}-creds`, credentials] : [];
  const sides = [...options("src", from), ...options("dest", to)];
  await run("skopeo", ["copy", "--insecure-policy", "--quiet", ...sides, from, to]);
  if (synced === undefined) return;
  const files = (await readdir(synced)).map((name) => path.join(synced, name));
  await run("sync", files);
}

/** Writes an image as skopeo's `dir:` has it; its layers are compressed, so that no client compresses them. */
async function writeImage(folder: string): Promise<void> {
  await mkdir(folder);
  const layerBytes = Math.floor((mebibytes * 1024 ** 2) / layersMax);
  const layers: Blob[] = [];
  for (let layer = 0; layer < layersMax; layer += 1) {
    const content = await promisify(gzip)(randomBytes(layerBytes), { level: 0 });
    layers.push(await writeBlob(folder, "layer.v1.tar+gzip", content));
  }
  const rootfs = { type: "layers", diff_ids: layers.map(({ digest }) => digest) };
  const settings = JSON.stringify({ architecture: "amd64", os: "linux", config: {}, rootfs });
  const config = await writeBlob(folder, "config.v1+json", Buffer.from(settings));
  const mediaType = "application/vnd.oci.image.manifest.v1+json";
  const manifest = JSON.stringify({ schemaVersion: 2, mediaType, config, layers });
  await writeFile(path.join(folder, "manifest.json"), manifest);
  await writeFile(path.join(folder, "version"), "Directory Transport Version: 1.1\n");
}

async function writeBlob(folder: string, type: string, content: Buffer): Promise<Blob> {
  const hex = createHash("sha256").update(content).digest("hex");
  await writeFile(path.join(folder, hex), content);
  const mediaType = `application/vnd.oci.image.${type}`;
  return { mediaType, size: content.length, digest: `sha256:${hex}` };
}
