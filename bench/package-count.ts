import { readFile } from "node:fs/promises";
import path from "node:path";
import { Client } from "pg";

import { packageIdOf } from "../src/package/core/coordinates.ts";
import { npmName } from "../src/package/npm/format.ts";
import { figure, quantile, timed } from "./figure.ts";
import { benchTypes } from "./package-type.ts";
import { benchRepository } from "./repository.ts";
import { type BenchService, withService } from "./service.ts";

/**
 * The 99th of 100 times of lists, index reads and uploads in an npm repository with many versions, ten to a package,
 * against those of another service whose repository has a hundredth of them; both are queried in turn. All versions but those
 * that are uploaded are written straight into the tables of the read model. Run:
 * `npx tsx bench/package-count.ts [versions]`.
 */
const versions = Number(process.argv[2] ?? 1_000_000);
const perPackage = 10;
const rounds = 400;
const warmUp = 40;
const uploads = 100;

const seedSql = `
  with source as (
    select p as package, v as version, f as file from package p
      join package_version v on v.package_id = p.id
      join package_file f on f.package_version_id = v.id
     where p.registry_id = $1 and p.name = 'tool'),
  named as (
    select given.id, given.name, source.* from source, unnest($2::uuid[], $3::text[]) as given (id, name)),
  packages as (
    insert into package
    select row.* from named cross join lateral jsonb_populate_record(package, jsonb_build_object(
      'id', id, 'name', name, 'artifact_id', name, 'live_versions', $4::int)) as row),
  made as (
    select gen_random_uuid() as version_id, '1.0.' || m as number, m, named.*
      from named, generate_series(1, $4::int) m),
  versions as (
    insert into package_version
    select row.* from made cross join lateral jsonb_populate_record(version, jsonb_build_object(
      'id', version_id, 'package_id', id, 'version', number, 'created_position', m)) as row)
  insert into package_file
  select row.* from made cross join lateral jsonb_populate_record(file, jsonb_build_object(
    'id', gen_random_uuid(), 'package_version_id', version_id, 'package_id', id,
    'name', name || '-' || number || '.tgz')) as row`;

await withService((many) =>
  withService(async (few) => {
    const packages = Math.floor(versions / perPackage);
    const sides = [
      await questionsOf(few, Math.floor(packages / 100)),
      await questionsOf(many, packages),
    ];
    for (const name of Object.keys(sides[0] ?? {})) {
      const times: number[][] = [[], []];
      const count = name === "upload" ? uploads : rounds;
      for (let round = -warmUp; round < count; round += 1) {
        for (const [side, questions] of sides.entries()) {
          const took = await timed(questions[name] as () => Promise<void>);
          if (round >= 0) times[side]?.push(took);
        }
      }
      const [before = [], after = []] = times;
      for (const [part, unit] of [
        [0.5, "ms p50"],
        [0.99, "ms p99"],
      ] as const) {
        const baseline = { name: "a hundredth", value: quantile(before, part) };
        figure(`${versions} versions, ${name}`, unit, quantile(after, part), baseline);
      }
    }
  }),
);

/** The requests to a repository with so many packages, which it makes. */
async function questionsOf(
  bench: BenchService,
  packages: number,
): Promise<Readonly<Record<string, () => Promise<void>>>> {
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
    const text = await answer.text();
    if (!answer.ok) throw new Error(text);
  };
  await upload();
  await seed(service.dataDir, id, packages);
  const read = async (url: string, headers: Record<string, string>): Promise<void> => {
    const answer = await fetch(url, { headers });
    if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`);
    await answer.arrayBuffer();
  };
  const list = `${service.url}/project/bench/packages/repositories/${id}/package?size=20`;
  const anyOf = () => 1 + Math.floor(Math.random() * (packages - 1));
  return {
    "first page": () => read(list, { authorization }),
    "page in the middle": () =>
      read(`${list}&page=${Math.floor(packages / 40)}`, { authorization }),
    search: () => read(`${base}/-/v1/search?text=seeded-7&size=20`, { authorization: basic }),
    "index of a package": () => read(`${base}/seeded-${anyOf()}`, { authorization: basic }),
    upload,
  };
}

/** Makes packages of ten versions each after the one version that the repository has. */
async function seed(dataDir: string, registryId: string, packages: number): Promise<void> {
  const password = (await readFile(path.join(dataDir, "pg-password"), "utf8")).trim();
  const options = "-c search_path=read_model,public";
  const db = new Client({ host: path.join(dataDir, "run"), user: "postgres", password, options });
  await db.connect();
  try {
    const names = Array.from({ length: packages }, (_, index) => `seeded-${index + 1}`);
    const ids = names.map((name) => packageIdOf(registryId, "npm", npmName(undefined, name)));
    await db.query(seedSql, [registryId, ids, names, perPackage]);
    // What the database still has to do with the rows just written, those of a living service have behind them.
    for (const table of ["package", "package_version", "package_file"])
      await db.query(`vacuum analyze ${table}`);
    await db.query("checkpoint");
  } finally {
    await db.end();
  }
}
