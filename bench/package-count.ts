import { readFile } from "node:fs/promises";
import path from "node:path";
import { Client } from "pg";

import { packageIdOf } from "../src/platform/package/coordinates.ts";
import { npmName } from "../src/platform/package/npm.ts";
import { figure, quantile, timed } from "./figure.ts";
import { benchTypes } from "./package-type.ts";
import { benchRepository } from "./repository.ts";
import { withService } from "./service.ts";

/**
 * The 99th of 100 times of lists, index reads and uploads in an npm repository with many versions, ten to a package,
 * against those of the same repository when it had a hundredth of them. All versions but those that are uploaded are
 * written straight into the tables of the read model. Run: `npx tsx bench/package-count.ts [versions]`.
 */
const versions = Number(process.argv[2] ?? 1_000_000);
const perPackage = 10;
const rounds = 200;
const uploads = 60;

await withService(async (bench) => {
  const { service, authorization, basic } = bench;
  await bench.project("packages");
  const { base, id } = await benchRepository(bench, "packages", {
    repositoryName: "npm",
    packageType: "npm",
  });
  const npm = benchTypes.find(({ name }) => name === "npm");
  if (npm === undefined) throw new Error("There is no such type");
  let uploaded = 0;
  const upload = async (): Promise<void> => {
    uploaded += 1;
    const answer = await npm.upload(base, `1.0.${uploaded}`, basic);
    if (!answer.ok) throw new Error(await answer.text());
  };
  const read = async (url: string, headers: Record<string, string>): Promise<void> => {
    const answer = await fetch(url, { headers });
    if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`);
    await answer.arrayBuffer();
  };
  const list = `${service.url}/project/bench/packages/repositories/${id}/package`;
  const questions = (packages: number): Record<string, () => Promise<void>> => ({
    "first page of packages": () => read(`${list}?size=20`, { authorization }),
    "page in the middle": () =>
      read(`${list}?size=20&page=${Math.floor(packages / 40)}`, { authorization }),
    "search by name": () =>
      read(`${base}/-/v1/search?text=seeded-7&size=20`, { authorization: basic }),
    "index of a package": () =>
      read(`${base}/seeded-${1 + Math.floor(Math.random() * (packages - 1))}`, {
        authorization: basic,
      }),
  });
  const measured = async (packages: number) => {
    const found = new Map<string, number>();
    for (const [name, ask] of Object.entries(questions(packages))) {
      const times: number[] = [];
      for (let round = -20; round < rounds; round += 1) {
        const took = await timed(ask);
        if (round >= 0) times.push(took);
      }
      found.set(name, quantile(times, 0.99));
    }
    const times: number[] = [];
    for (let round = 0; round < uploads; round += 1) times.push(await timed(upload));
    return found.set("upload", quantile(times, 0.99));
  };
  await upload();
  const password = (await readFile(path.join(service.dataDir, "pg-password"), "utf8")).trim();
  const host = path.join(service.dataDir, "run");
  const options = "-c search_path=read_model,public";
  const db = new Client({ host, user: "postgres", password, options });
  await db.connect();
  try {
    const few = Math.floor(versions / 100 / perPackage);
    await seed(db, id, 1, few);
    await settled(db);
    const before = await measured(few);
    const many = Math.floor(versions / perPackage);
    await seed(db, id, few + 1, many);
    await settled(db);
    const after = await measured(many);
    for (const [name, value] of after) {
      const baseline = { name: "a hundredth", value: before.get(name) ?? Number.NaN };
      figure(`${versions} versions, ${name}`, "ms p99", value, baseline);
    }
  } finally {
    await db.end();
  }
});

/** Makes packages of ten versions each after the one version that the repository has. */
async function seed(db: Client, registryId: string, first: number, last: number): Promise<void> {
  const names = Array.from({ length: last - first + 1 }, (_, index) => `seeded-${first + index}`);
  const ids = names.map((name) => packageIdOf(registryId, "npm", npmName(undefined, name)));
  await db.query(
    `with source as (
       select p as package, v as version, f as file from package p
         join package_version v on v.package_id = p.id
         join package_file f on f.package_version_id = v.id
        where p.registry_id = $1 and p.name = 'tool' order by v.created_position limit 1),
     named as (
       select id, name, source.* from source, unnest($2::uuid[], $3::text[]) as given (id, name)),
     packages as (
       insert into package
       select (jsonb_populate_record(null::package,
         to_jsonb(package) || jsonb_build_object('id', id, 'name', name, 'artifact_id', name,
         'live_versions', $4::int))).*
         from named),
     made as (
       select gen_random_uuid() as version_id, '1.0.' || m as number, m, named.*
         from named, generate_series(1, $4::int) m),
     total as (
       update package_total set live = live + cardinality($2::uuid[]) where registry_id = $1),
     versions as (
       insert into package_version
       select (jsonb_populate_record(null::package_version, to_jsonb(version) || jsonb_build_object(
         'id', version_id, 'package_id', id, 'version', number, 'created_position', m))).*
         from made)
     insert into package_file
     select (jsonb_populate_record(null::package_file, to_jsonb(file) || jsonb_build_object(
       'id', gen_random_uuid(), 'package_version_id', version_id, 'package_id', id,
       'name', name || '-' || number || '.tgz'))).* from made`,
    [registryId, ids, names, perPackage],
  );
}

/** Ends what the database still has to do with the rows just written, which those of a living service have behind them. */
async function settled(db: Client): Promise<void> {
  for (const table of ["package", "package_version", "package_file"])
    await db.query(`vacuum analyze ${table}`);
  await db.query("checkpoint");
}
