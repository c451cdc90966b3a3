import { randomUUID } from "node:crypto";
import { once } from "node:events";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { expect } from "chai";

import type { PackageId } from "../../../../../src/events/core/ids.ts";
import { cachedDocument } from "../../../../../src/http/protocol/package/core/document.ts";
import {
  indexBudget,
  joinedParts,
  type PartForm,
  partsOf,
  pieceAnswer,
} from "../../../../../src/http/protocol/package/core/part.ts";
import { asCaller } from "../../../../../src/platform/caller.ts";
import { testDatabase } from "../../../../support/store/database.ts";

const { db } = await testDatabase("app");

/** Of the versions in each call that made a part. */
let made: number[] = [];
const form: PartForm<undefined> = {
  key: "test",
  keyOf: ({ version }) => version,
  make(files) {
    made.push(files.length);
    const shown = files.map(({ version, yank_reason }) => version + (yank_reason ?? ""));
    return { texts: [shown.join(",")], summary: undefined };
  },
};

type Given = Readonly<{ id: PackageId; registryId: string }>;

/** A package with these versions; the position of each is its number. */
async function givenPackage(first: number, last: number): Promise<Given> {
  const [registryId, id] = [randomUUID(), randomUUID() as PackageId];
  await db("package_registry").insert({ id: registryId, owner_id: "owner", revision: last });
  const names = { name: "tool", group_id: "", artifact_id: "tool" };
  await db("package").insert({ id, registry_id: registryId, type: "cargo", ...names });
  const given = { id, registryId };
  await addVersions(given, first, last);
  return given;
}

async function addVersions({ id, registryId }: Given, first: number, last: number) {
  const ids = [db.raw("gen_random_uuid()"), id, first, last];
  await db.raw(
    `with made as (
       insert into package_version
         (id, package_id, registry_id, version, created_position, changed_position, created_at, deprecation)
       select ?, ?::uuid, '', n::text, n, n, now(), '' from generate_series(?::int, ?::int) n
       returning id, package_id)
     insert into package_file (id, package_version_id, package_id, name, bytes, md5, sha1, sha256,
       sha512, upload_type, created_at)
     select gen_random_uuid(), id, package_id, 'file', 1, '', '', '', '', 'API', now() from made`,
    ids,
  );
  await db("package_registry").where("id", registryId).update({ revision: last });
}

/** Makes other documents take the place of all that are kept. */
async function evictAll(): Promise<void> {
  const bytes = 64 * 1024 ** 2;
  for (const _ of [1, 2])
    await cachedDocument(
      randomUUID(),
      async () => ({}),
      () => bytes - 1_000,
    );
}

/** Adds files to a version. */
async function addFiles({ id }: Given, version: string, count: number): Promise<void> {
  await db.raw(
    `insert into package_file (id, package_version_id, package_id, name, bytes, md5, sha1, sha256,
       sha512, upload_type, created_at)
     select gen_random_uuid(), id, package_id, n::text, 1, '', '', '', '', 'API', now()
       from package_version, generate_series(1, ?::int) n where package_id = ? and version = ?`,
    [count, id, version],
  );
}

/** Changes what is shown of a version, as an event at that position does. */
async function change(given: Given, version: string, row: object, at: number) {
  await db("package_version")
    .where({ package_id: given.id, version })
    .update({ ...row, changed_position: at });
  await db("package_registry").where("id", given.registryId).update({ revision: at });
}

async function shown(...packages: readonly Given[]): Promise<readonly string[]> {
  made = [];
  const ids = packages.map(({ id }) => id);
  const pieces = joinedParts(await partsOf(ids, form, { db }), 0, ",");
  const { body } = pieceAnswer("text/plain", pieces);
  return String(typeof body === "string" || Buffer.isBuffer(body) ? body : await text(body)).split(
    ",",
  );
}

const numbers = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, index) => String(first + index));

describe("the index of a package in parts", () => {
  it("is appended to by a new version", async () => {
    const given = await givenPackage(1, 450);
    expect(await shown(given)).to.deep.equal(numbers(1, 450));
    expect(made).to.deep.equal([200, 200, 50]);
    await shown(given);
    expect(made, "without a change").to.deep.equal([]);
    await addVersions(given, 451, 650);
    expect(await shown(given)).to.deep.equal(numbers(1, 650));
    expect(made).to.deep.equal([200, 50]);
    await addVersions(given, 651, 651);
    expect(await shown(given)).to.deep.equal(numbers(1, 651));
    expect(made).to.deep.equal([51]);
  });

  it("is made anew where a version has changed, and nowhere else", async () => {
    const given = await givenPackage(1, 600);
    await shown(given);
    await change(given, "250", { yank_reason: " yanked" }, 700);
    expect((await shown(given))[249]).to.equal("250 yanked");
    expect(made).to.deep.equal([200]);
    await change(given, "3", { deleted_at: new Date() }, 701);
    expect(await shown(given))
      .to.have.length(599)
      .and.not.to.include("3");
    expect(made).to.deep.equal([199]);
    await change(given, "3", { deleted_at: null }, 702);
    await addVersions(given, 703, 703);
    expect(await shown(given))
      .to.have.length(601)
      .and.to.include.members(["3", "703"]);
    expect(made, "a full part and the next one").to.deep.equal([200, 200, 1]);
  });

  it("is made from the beginning when a version has gone for good", async () => {
    const given = await givenPackage(1, 300);
    await shown(given);
    await db("package_version").where({ package_id: given.id, version: "7" }).delete();
    await db("package").where("id", given.id).update({ reset_position: 400 });
    await db("package_registry").where("id", given.registryId).update({ revision: 400 });
    expect(await shown(given))
      .to.have.length(299)
      .and.not.to.include("7");
    expect(made).to.deep.equal([200, 99]);
  });

  it("is made in parts that end by what is said of their files, and by how many files there are", async () => {
    const given = await givenPackage(1, 20);
    const files = db("package_file").where({ package_id: given.id });
    await files.clone().update({ metadata: "x".repeat(250_000) });
    expect(await shown(given)).to.deep.equal(numbers(1, 20));
    expect(made).to.deep.equal([4, 4, 4, 4, 4]);
    const wheels = await givenPackage(1, 3);
    await addFiles(wheels, "2", 199);
    expect(await shown(wheels)).to.have.length(202);
    expect(made).to.deep.equal([1, 200, 1]);
  });

  it("is made in more parts where the versions of one have grown", async () => {
    const given = await givenPackage(1, 250);
    await shown(given);
    await db("package_file")
      .where({ package_id: given.id })
      .update({ metadata: "x".repeat(10_000) });
    await change(given, "7", { yank_reason: "" }, 300);
    expect(await shown(given)).to.deep.equal(numbers(1, 250));
    expect(made).to.deep.equal([104, 96]);
    await change(given, "150", { yank_reason: "" }, 301);
    await shown(given);
    expect(made).to.deep.equal([96]);
  });

  it("is made of few packages of a caller at once", async () => {
    const all = await Promise.all(Array.from({ length: 6 }, () => givenPackage(1, 401)));
    const open = new Map<PackageId, number>();
    let most = 0;
    const counted: PartForm<undefined> = {
      ...form,
      make(files) {
        const id = files[0]?.package_id as PackageId;
        open.set(id, (open.get(id) ?? 0) + 1);
        most = Math.max(most, [...open.values()].filter((parts) => parts < 3).length);
        return { texts: ["x"], summary: undefined };
      },
    };
    const caller = randomUUID();
    const send = ({ id }: Given) => asCaller(caller, () => partsOf([id], counted, { db }));
    await Promise.all(all.map(send));
    expect(most).to.equal(2);
  });

  it("has each version once, of the first repository that has it", async () => {
    const [first, second] = [await givenPackage(200, 420), await givenPackage(1, 300)];
    await change(second, "250", { yank_reason: " of the second" }, 500);
    expect(await shown(first, second)).to.deep.equal([...numbers(200, 420), ...numbers(1, 199)]);
    expect(await shown(second, first))
      .to.include("250 of the second")
      .and.have.length(420);
  });

  it("is made once of several repositories, until one of them changes", async () => {
    const [first, second] = [await givenPackage(1, 3), await givenPackage(2, 5)];
    const both = [first.id, second.id];
    made = [];
    await Promise.all([1, 2, 3].map(() => partsOf(both, form, { db })));
    await partsOf(both, form, { db });
    expect(made).to.deep.equal([3, 2]);
    await change(second, "5", { yank_reason: " yanked" }, 9);
    expect(await shown(first, second)).to.deep.equal(["1", "2", "3", "4", "5 yanked"]);
    await db("package_version").where({ package_id: first.id, version: "1" }).delete();
    await db("package").where("id", first.id).update({ reset_position: 10 });
    expect(await shown(first, second)).to.deep.equal(["2", "3", "4", "5 yanked"]);
  });

  it("is shared by requests that come while it is sent, even when it is not kept", async () => {
    const [first, second] = [await givenPackage(1, 3), await givenPackage(4, 5)];
    const large: PartForm<undefined> = {
      ...form,
      key: "large",
      make(files) {
        made.push(files.length);
        return { texts: ["x".repeat(2 * 1024 ** 2)], summary: undefined };
      },
    };
    for (const ids of [[first.id], [first.id, second.id]]) {
      const send = async () => joinedParts(await partsOf(ids, large, { db }), 0);
      const { body } = pieceAnswer("text/plain", await send());
      await evictAll();
      const before = indexBudget.bytes;
      expect(before).to.be.at.least(2 * 1024 ** 2);
      made = [];
      const again = pieceAnswer("text/plain", await send()).body;
      expect(made).to.deep.equal([]);
      expect(indexBudget.bytes).to.equal(before);
      for (const one of [body, again]) {
        (one as Readable).destroy();
        await once(one as Readable, "close");
      }
    }
    expect(indexBudget.bytes).to.equal(0);
  });

  it("has an entity tag that follows from its content, and its length when it is sent in pieces", () => {
    const large = "x".repeat(700_000);
    const answers = [[large, large], [large, large, ""], [large, `${large}y`], ["small"]].map(
      (pieces) => pieceAnswer("text/plain", pieces).headers,
    );
    const tags = answers.map(({ ETag }) => ETag);
    expect(new Set([tags[0], tags[2], tags[3]])).to.have.property("size", 3);
    expect(answers.map((headers) => headers["Content-Length"])).to.deep.equal([
      "1400000",
      "1400000",
      "1400001",
      undefined,
    ]);
    expect(pieceAnswer("text/plain", [large, large]).headers).to.deep.equal(answers[0]);
  });
});
