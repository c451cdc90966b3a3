import { randomUUID } from "node:crypto";
import { expect } from "chai";
import type { Knex } from "knex";

import type { AnyEvent } from "../../../src/events/core/event.ts";
import { packageVersionStream } from "../../../src/events/package/version.ts";
import { registryRepositoryStream } from "../../../src/events/registry/repository.ts";
import {
  listDeletedVersions,
  listLivePackages,
  listLiveVersions,
} from "../../../src/projections/package/live.ts";
import type { PackageRow } from "../../../src/projections/package/table.ts";
import { countLivePackages, packageBytes } from "../../../src/projections/package/total.ts";
import {
  newestVersions,
  packageVersionProjection,
} from "../../../src/projections/package/version.ts";
import { at, history } from "../../support/app/history.ts";
import { context, project, reset } from "../../support/app/projection.ts";
import { testDatabase } from "../../support/store/database.ts";

const { db } = await testDatabase();
const [by, owner, repository] = [randomUUID(), randomUUID(), randomUUID()];
const [packageId, one, two] = [randomUUID(), randomUUID(), randomUUID()];

type Written = readonly [string, AnyEvent];

const version = (id: string, number: string, bytes: number): readonly Written[] => {
  const names = { name: "tool", groupId: "", artifactId: "tool", version: number };
  const of = { packageId, packageVersionId: id, registryId: repository, packageType: "npm" };
  const hex = (length: number) => "a".repeat(length);
  const digests = { md5: hex(32), sha1: hex(40), sha256: hex(64), sha512: hex(128) };
  const file = { fileId: randomUUID(), name: "f", bytes, ...digests, uploadType: "TRANSPORT" };
  const stream = packageVersionStream(id);
  const created = { ...of, ...names, createdById: by, createdAt: at };
  const stored = { ...file, languageVersion: null, packageId, storedById: by, storedAt: at };
  return [
    [stream, { type: "PackageVersionCreated", data: created }],
    [stream, { type: "PackageFileStored", data: stored }],
  ];
};
const changed = (id: string, type: string, data: object): Written => [
  packageVersionStream(id),
  { type, data: { packageId, ...data } } as AnyEvent,
];
const deleted = (id: string) =>
  changed(id, "PackageVersionDeleted", { deletedById: by, deletedAt: at });
const restored = (id: string) =>
  changed(id, "PackageVersionRestored", { restoredById: by, restoredAt: at });
const purged = (id: string) => changed(id, "PackageVersionPurged", { purgedAt: at });

async function given(...events: readonly Written[]): Promise<void> {
  await reset(db, packageVersionProjection);
  await project(db, packageVersionProjection, history(...events), context);
  const row = { id: repository, owner_id: owner };
  await db("package_registry").insert(row).onConflict("id").ignore();
}

const totals = async () => [
  await countLivePackages(db, [repository]),
  (await listLivePackages(db, [repository], { limit: 10, offset: 0 })).map(({ live_versions }) =>
    Number(live_versions),
  ),
  await packageBytes(db, owner),
];

describe("totals of packages", () => {
  const stored = [...version(one, "1", 10), ...version(two, "2", 5)];
  const cases: readonly (readonly [string, readonly Written[], readonly unknown[]])[] = [
    ["after two versions", stored, [1, [2], 15]],
    ["after one is deleted, twice", [...stored, deleted(two), deleted(two)], [1, [1], 15]],
    ["after both are deleted", [...stored, deleted(one), deleted(two)], [0, [], 15]],
    ["after one is restored", [...stored, deleted(one), deleted(two), restored(one)], [1, [1], 15]],
    ["after one is purged", [...stored, deleted(one), deleted(two), purged(one)], [0, [], 5]],
    ["after one begins anew", [...stored, deleted(two), ...version(two, "2", 7)], [1, [2], 17]],
  ];
  for (const [title, events, expected] of cases) {
    it(`are those of the rows ${title}`, async () => {
      await given(...events);
      expect(await totals()).to.deep.equal(expected);
    });
  }

  it("are gone with the repository", async () => {
    const gone = { type: "RegistryRepositoryDeleted", data: { deletedById: by, deletedAt: at } };
    await given(...stored);
    await project(
      db,
      packageVersionProjection,
      history([registryRepositoryStream(repository), gone as AnyEvent]).map((event) => ({
        ...event,
        position: 1_000n,
      })),
      context,
    );
    expect(await db("package_total")).to.deep.equal([]);
  });
});

describe("lists of packages among thousands", () => {
  const registries = [randomUUID(), randomUUID()];
  const rowsMax = 120;
  const page = { limit: 20, offset: 60 };
  let found: PackageRow;

  before(async () => {
    await given();
    await db.raw(
      `insert into package (id, registry_id, type, name, group_id, artifact_id, live_versions, is_live)
       select gen_random_uuid(), (?::text[])[1 + n % 2], 'npm', 'p' || n, '', 'p', 3, true
         from generate_series(1, 3000) n`,
      [registries],
    );
    await db.raw(
      `insert into package_version (id, package_id, registry_id, version, created_position, changed_position,
         created_at, deprecation, deleted_at)
       select gen_random_uuid(), id, registry_id, 'v' || m, m, m, now(), '',
         case when m > 3 then now() - m * interval '1 second' end
         from package, generate_series(1, 6) m`,
    );
    await db.raw("update package_version set package_id = ? where version in ('v1', 'v2')", [
      (await listLivePackages(db, registries, page))[0]!.id,
    ]);
    await db.raw("vacuum analyze package, package_version");
    found = (await listLivePackages(db, registries, page))[0]!;
  });

  /** The most rows that a node of the plan of this query read. */
  async function rowsRead(send: () => Promise<unknown>): Promise<number> {
    const queries: { sql: string; bindings: readonly Knex.RawBinding[] }[] = [];
    const note = (query: (typeof queries)[number]) => queries.push(query);
    db.on("query", note);
    await send();
    db.off("query", note);
    return db.transaction(async (tx) => {
      // The value recommended to operators for solid disks: with so few rows the default prefers to read all.
      await tx.raw("set local random_page_cost = 1.1");
      let most = 0;
      for (const { sql, bindings } of queries) {
        const text = `explain (analyze, format json) ${sql.replaceAll(/\$\d+/g, "?")}`;
        const { rows } = await tx.raw(text, [...bindings]);
        most = Math.max(most, mostRows(rows[0]["QUERY PLAN"][0].Plan));
      }
      return most;
    });
  }

  for (const [title, ids] of [
    ["a repository", registries.slice(0, 1)],
    ["a virtual one", registries],
  ] as const) {
    it(`read no more of ${title} than its page and what is before it`, async () => {
      expect(await rowsRead(() => listLivePackages(db, ids, page))).to.be.within(20, rowsMax);
    });

    it(`read no more of ${title} than a page that begins where another ended`, async () => {
      const before = await listLivePackages(db, ids, { limit: 1_001, offset: 0 });
      const from = before.at(-1)!;
      const next = { limit: 20, offset: 0, from };
      const rows = await listLivePackages(db, ids, { limit: 20, offset: 1_000 });
      expect(await listLivePackages(db, ids, next)).to.deep.equal(rows);
      expect(await rowsRead(() => listLivePackages(db, ids, next))).to.be.within(20, 40);
    });

    it(`read no more of the trash of ${title} than is counted`, async () => {
      const trash = { ...page, since: new Date(0) };
      const read = await rowsRead(() => listDeletedVersions(db, ids, trash));
      expect(read).to.be.within(20, 580 + rowsMax);
    });
  }

  it("read no more versions of a package than its page and what is before it", async () => {
    const read = await rowsRead(() => listLiveVersions(db, found, page));
    expect(read).to.be.within(20, rowsMax);
  });

  it("read one version of each package for the newest", async () => {
    expect(await rowsRead(() => newestVersions(db, [found.id]))).to.be.within(1, 4);
  });
});

type Plan = Readonly<Record<string, unknown>> & Readonly<{ Plans?: readonly Plan[] }>;

function mostRows(plan: Plan): number {
  const number = (name: string) => Number(plan[name] ?? 0);
  const own = (number("Actual Rows") + number("Rows Removed by Filter")) * number("Actual Loops");
  return Math.max(own, ...(plan.Plans ?? []).map(mostRows));
}
