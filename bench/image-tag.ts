import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { Client } from "pg";

import { figure, quantile, timed } from "./figure.ts";
import { benchRepository } from "./repository.ts";
import { withService } from "./service.ts";

/**
 * The 95th of 100 times of pages of tags, of a manifest by its tag and of new tags, for an image with many tags against
 * the same image when it had a hundredth of them. Tags but those that are pushed are written straight into the table
 * of the read model. Run: `npx tsx bench/image-tag.ts [tags]`.
 */
const tags = Number(process.argv[2] ?? 1_000_000);
const rounds = 200;
const pushes = 40;
const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

await withService(async (bench) => {
  await bench.project("images");
  await benchRepository(bench, "images", { repositoryName: "images", packageType: "container" });
  const image = `${bench.service.url}/v2/bench/images/images/app`;
  const send = async (url: string, init: RequestInit = {}): Promise<void> => {
    const headers = { authorization: bench.basic, ...init.headers };
    const answer = await fetch(url, { ...init, headers });
    if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`);
    await answer.arrayBuffer();
  };
  const digest = `sha256:${sha256("{}")}`;
  await send(`${image}/blobs/uploads/?digest=${digest}`, { method: "POST", body: "{}" });
  const mediaType = "application/vnd.oci.image.manifest.v1+json";
  const config = { mediaType: "application/vnd.oci.image.config.v1+json", digest, size: 2 };
  const manifest = JSON.stringify({ schemaVersion: 2, mediaType, config, layers: [] });
  let pushed = 0;
  const push = async (): Promise<void> => {
    pushed += 1;
    const headers = { "content-type": mediaType };
    await send(`${image}/manifests/new-${pushed}`, { method: "PUT", headers, body: manifest });
  };
  const measured = async (count: number): Promise<ReadonlyMap<string, number>> => {
    const some = () => `seeded-${Math.floor(Math.random() * count)}`;
    const questions: Record<string, () => Promise<void>> = {
      "first page": () => send(`${image}/tags/list?n=100`),
      "page in the middle": () => send(`${image}/tags/list?n=100&last=${some()}`),
      "manifest by tag": () => send(`${image}/manifests/${some()}`),
      "new tag": push,
    };
    const found = new Map<string, number>();
    for (const [name, question] of Object.entries(questions)) {
      const times: number[] = [];
      for (let round = 0; round < (question === push ? pushes : rounds); round += 1) {
        times.push(await timed(question));
      }
      found.set(name, quantile(times, 0.95));
    }
    return found;
  };
  await push();
  const password = (await readFile(path.join(bench.service.dataDir, "pg-password"), "utf8")).trim();
  const host = path.join(bench.service.dataDir, "run");
  const options = "-c search_path=read_model,public";
  const db = new Client({ host, user: "postgres", password, options });
  await db.connect();
  try {
    const few = Math.floor(tags / 100);
    await seed(db, 0, few);
    const before = await measured(few);
    await seed(db, few, tags);
    const after = await measured(tags);
    for (const [name, value] of after) {
      const baseline = { name: "a hundredth", value: before.get(name) ?? Number.NaN };
      figure(`${tags} tags, ${name}`, "ms p95", value, baseline);
    }
  } finally {
    await db.end();
  }
});

/** More tags of the manifest that is there. */
async function seed(db: Client, first: number, until: number): Promise<void> {
  await db.query(
    `insert into container_tag (package_id, tag, digest)
     select package_id, 'seeded-' || n, digest
       from (select package_id, digest from container_tag limit 1) one,
            generate_series($1::int, $2::int - 1) n`,
    [first, until],
  );
  await db.query("analyze container_tag");
}
