import { readFile } from "node:fs/promises";
import path from "node:path";
import { Client } from "pg";

import { figure, median, timed } from "./figure.ts";
import { type BenchType, benchTypes } from "./package-type.ts";
import { type BenchService, withService } from "./service.ts";

/**
 * What an upload into a package with many versions takes, the first read of its index after it and a read
 * of the index as it was, against the same in a package with a hundredth of the versions; and how long
 * another request waits meanwhile. All versions but those measured are written straight into the tables of
 * the read model. Run: `npx tsx bench/package-index.ts [versions] [type …]`.
 */
const many = Number(process.argv[2] ?? 100_000);
const chosen = process.argv.slice(3);
const rounds = 7;
const settle = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

await withService(async (bench) => {
  await bench.project("packages");
  const password = (await readFile(path.join(bench.service.dataDir, "pg-password"), "utf8")).trim();
  const host = path.join(bench.service.dataDir, "run");
  const db = new Client({
    host,
    user: "postgres",
    password,
    options: "-c search_path=read_model,public",
  });
  await db.connect();
  try {
    for (const type of benchTypes) {
      if (chosen.length > 0 && !chosen.includes(type.name)) continue;
      const few = await measured(bench, db, type, Math.floor(many / 100));
      const figures = await measured(bench, db, type, many);
      for (const [what, value] of Object.entries(figures)) {
        const name = `${type.name}, ${many} versions, ${what}`;
        const baseline = { name: "a hundredth", value: few[what as keyof typeof few] };
        figure(name, what === "index size" ? "MiB" : "ms", value, baseline);
      }
    }
  } finally {
    await db.end();
  }
});

async function measured(bench: BenchService, db: Client, type: BenchType, versions: number) {
  const { service, authorization, basic } = bench;
  const repository = `${type.name}-${versions}`;
  const created = await fetch(`${service.url}/project/bench/packages/repositories`, {
    method: "POST",
    headers: { authorization, "content-type": "application/json" },
    body: JSON.stringify({ type: "LOCAL", repositoryName: repository, packageType: type.name }),
  });
  if (!created.ok) throw new Error(`${repository}: ${await created.text()}`);
  const { repositoryUuid } = (await created.json()) as Readonly<{ repositoryUuid: string }>;
  const base = `${service.url}/registry/project/bench/packages/repository/${repository}`;
  const upload = async (version: string): Promise<void> => {
    const answer = await type.upload(base, version, basic);
    if (!answer.ok) throw new Error(`${repository} ${version}: ${await answer.text()}`);
  };
  let size = 0;
  const read = async (): Promise<void> => {
    const answer = await fetch(`${base}/${type.index}`, { headers: { authorization: basic } });
    if (!answer.ok) throw new Error(`${repository}: ${await answer.text()}`);
    size = (await answer.arrayBuffer()).byteLength;
  };
  await upload("0.0.1");
  await seed(db, repositoryUuid, versions);
  await read();
  const times = { upload: [] as number[], after: [] as number[], again: [] as number[] };
  const waits: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    times.upload.push(await timed(() => upload(`9.0.${round}`)));
    const waited = longestWait(service.url);
    times.after.push(await timed(read));
    waits.push(await waited());
    times.again.push(await timed(read));
  }
  return {
    upload: median(times.upload),
    "read after it": median(times.after),
    "another request meanwhile": median(waits),
    "read again": median(times.again),
    "index size": size / 1024 ** 2,
  };
}

/** Milliseconds that the slowest of many small requests takes until the returned function is called. */
function longestWait(url: string): () => Promise<number> {
  let longest = 0;
  let isOver = false;
  const watch = async (): Promise<void> => {
    while (!isOver) {
      longest = Math.max(longest, await timed(async () => (await fetch(`${url}/health`)).text()));
      await settle(2);
    }
  };
  const watched = watch();
  return async () => {
    isOver = true;
    await watched;
    return longest;
  };
}

/** Makes further versions after the one that the repository has. */
async function seed(db: Client, registryId: string, versions: number): Promise<void> {
  await db.query(
    `with source as (
       select v as version, f as file from package_version v
         join package p on p.id = v.package_id
         join package_file f on f.package_version_id = v.id
        where p.registry_id = $1),
     made as (
       select gen_random_uuid() as id, n, '0.' || n / 1000 || '.' || n % 1000 as number, source.*
         from source, generate_series(2, $2::int) n),
     versions as (
       insert into package_version
       select (jsonb_populate_record(null::package_version,
         to_jsonb(made.version) || jsonb_build_object('id', id, 'version', number,
           'created_position', (made.version).created_position - n))).* from made)
     insert into package_file
     select (jsonb_populate_record(null::package_file, to_jsonb(made.file) || jsonb_build_object(
       'id', gen_random_uuid(), 'package_version_id', id,
       'name', replace((made.file).name, '0.0.1', number),
       'metadata', replace((made.file).metadata, '0.0.1', number)))).* from made`,
    [registryId, versions],
  );
  await db.query("analyze package_version");
  await db.query("analyze package_file");
}
