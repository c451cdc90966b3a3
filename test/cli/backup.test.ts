import { createHash } from "node:crypto";
import { appendFile, readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { Readable } from "node:stream";
import { gunzipSync } from "node:zlib";
import { expect } from "chai";
import type { Knex } from "knex";
import pino from "pino";

import { eventDigest } from "../../src/events/core/canonical.ts";
import type { Sealed } from "../../src/events/core/sealed.ts";
import { projectSubject } from "../../src/events/project/project.ts";
import { openBlobs } from "../../src/platform/blob/open.ts";
import type { EventStore } from "../../src/platform/event-store/event-store.ts";
import { directoryOf } from "../../src/platform/git/repositories.ts";
import { openVault } from "../../src/platform/key/vault.ts";
import { allProjections } from "../../src/projections/all.ts";
import { rebuild } from "../../src/projections/core/rebuild.ts";
import { secretKey } from "../support/app.ts";
import { testDatabase } from "../support/database.ts";
import { testEventStore } from "../support/event-store.ts";
import { commit, git, temporaryDirectory, workingCopy } from "../support/git.ts";
import { startGitApp, type TestProject, type TestUser } from "../support/git-app.ts";
import { metadataFor } from "../support/history.ts";
import { runProgram } from "../support/service.ts";

const app = await startGitApp();
const { url: databaseUrl, db } = await testDatabase();
const { url: eventStoreUrl, store } = await testEventStore();
const dataDir = await temporaryDirectory();
const directory = path.join(await temporaryDirectory(), "backup");
const content = "a large file";
const digest = createHash("sha256").update(content).digest("hex");

type Beside = Readonly<{ databaseUrl: string; eventStoreUrl: string; dataDir: string }>;
const source: Beside = app;
const target: Beside = { databaseUrl, eventStoreUrl, dataDir };

async function run(args: readonly string[], on: Beside, key = secretKey) {
  const program = runProgram(args, {
    DATABASE_URL: on.databaseUrl,
    EVENTSTORE_URL: on.eventStoreUrl,
    DATA_DIR: on.dataDir,
    SECRET_KEY: key,
    LOG_LEVEL: "silent",
  });
  const [code] = await program.exited;
  return { code, output: program.output() };
}

async function digests(of: EventStore): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const event of of.readAll()) found.push(eventDigest(event).toString("hex"));
  return found;
}

type Manifest = Readonly<{
  position: string;
  events: Readonly<{ name: string; lines: number }>;
  repositories: number;
  blobs: number;
}>;
const manifest = async (): Promise<Manifest> =>
  JSON.parse(await readFile(path.join(directory, "backup.json"), "utf8"));

describe("a backup", function () {
  this.timeout(180_000);
  let anna: TestUser;
  let project: TestProject;
  let copy: string;
  let sealed: Sealed;

  before(async () => {
    anna = await app.user("anna");
    project = await app.project(anna, "search");
    copy = await workingCopy(await temporaryDirectory(), "copy");
    await commit(copy, "First", { "a.txt": "a" });
    await git(copy, "push", "--quiet", app.remote(project, anna), "main");
    const held = await app.blobs.putPlain(Readable.from([content]), { bytesMax: 1_000 });
    await held.release();
    sealed = await app.vault.seal(projectSubject(project.id), "known");
    await app.db("public.reactor_checkpoint").insert([
      { name: "early", position: 0 },
      { name: "late", position: Number((await app.store.head()) ?? 0n) },
    ]);
  });

  it("is taken while the service goes on, and again into the same directory", async () => {
    const first = await run(["backup", directory], source);
    expect(first.code, first.output).to.equal(0);
    expect(await manifest()).to.deep.include({ repositories: 1, blobs: 1 });
    const before = await manifest();

    await commit(copy, "Second", { "a.txt": "b" });
    await git(copy, "push", "--quiet", app.remote(project, anna), "main", "main:dev");
    const again = await run(["backup", directory], source);
    expect(again.code, again.output).to.equal(0);
    const after = await manifest();
    expect(after.events.lines).to.be.greaterThan(before.events.lines);
    expect(BigInt(after.position) > BigInt(before.position)).to.equal(true);
    const files = (await readdir(directory)).filter((name) => name.startsWith("events-"));
    expect(files).to.deep.equal([after.events.name]);
  });

  it("is refused into a directory that holds other things", async () => {
    const other = await temporaryDirectory();
    await writeFile(path.join(other, "thesis.txt"), "mine");
    const { code, output } = await run(["backup", other], source);
    expect([code, output]).to.deep.equal([
      78,
      `${other} holds thesis.txt: give an empty directory for the backup.\n`,
    ]);
    expect(await readdir(other)).to.deep.equal(["thesis.txt"]);
  });

  it("holds no secret in clear", async () => {
    for (const name of (await readdir(directory)).filter((each) => each.endsWith(".gz"))) {
      const bytes = await readFile(path.join(directory, name));
      const text = gunzipSync(bytes).toString("utf8");
      expect(text).to.include("{");
      expect(text).not.to.include("anna@example.test");
    }
  });

  it("is not restored with another key, into another log, or when it was damaged", async () => {
    const otherKey = await run(["restore", directory], target, "k".repeat(40));
    expect([otherKey.code, otherKey.output]).to.deep.equal([
      78,
      "SECRET_KEY is not the one that the backup was made with.\n",
    ]);
    const { events } = await manifest();
    const file = path.join(directory, events.name);
    const whole = await readFile(file);
    await appendFile(file, "x");
    const damaged = await run(["restore", directory], target);
    await writeFile(file, whole);
    expect([damaged.code, damaged.output]).to.deep.equal([
      78,
      `${file} is not what it was when the backup was made.\n`,
    ]);
    expect(await store.head()).to.equal(undefined);
    expect(await db("vault_key").pluck("subject")).to.deep.equal([]);
  });

  it("gives an empty instance the same log, keys, repositories and files, as often as it is run", async () => {
    for (const time of ["first", "second"]) {
      const { code, output } = await run(["restore", directory], target);
      expect(code, `${time} ${output}`).to.equal(0);
    }
    expect(await digests(store)).to.deep.equal(await digests(app.store));
    const gitDir = directoryOf(path.join(dataDir, "repositories"), project.id);
    const refs = await git(gitDir, "for-each-ref");
    const own = directoryOf(path.join(app.dataDir, "repositories"), project.id);
    expect(refs).to.equal(await git(own, "for-each-ref"));
    expect(refs.split("\n")).to.have.length(2);
    await git(gitDir, "fsck", "--strict");
    const blobs = await openBlobs({ dataDir }, db);
    expect(await blobs.stat(digest)).to.deep.equal({ bytes: content.length });
    expect(await openVault(db, secretKey).open(sealed)).to.equal("known");
    const reactors = await db("public.reactor_checkpoint").orderBy("name").pluck("name");
    expect(reactors).to.deep.equal(["early", "late"]);
  });

  it("gives the same read models", async () => {
    const { signal } = new AbortController();
    const context = { open: openVault(db, secretKey).open };
    const log = pino({ level: "silent" });
    const deps = { databaseUrl, db, store, projections: allProjections, context, log };
    expect(await rebuild(deps, allProjections, { signal })).to.have.property("events");
    const rows = (of: Knex, table: string, columns: readonly string[]) =>
      of(`read_model.${table}`)
        .orderBy([...columns])
        .select([...columns]);
    for (const [table, ...columns] of [
      ["app_user", "id", "alias", "email", "created_at"],
      ["project", "id", "alias", "owner_id", "title"],
      ["git_ref", "project_id", "ref", "object_id"],
      ["log_tree_node", "level", "index", "hash"],
      ["log_chain_head", "events", "chain"],
    ] as const) {
      const own = await rows(app.db, table, columns);
      expect(own, table).not.to.deep.equal([]);
      expect(await rows(db, table, columns), table).to.deep.equal(own);
    }
  });

  it("is not restored where another log is", async () => {
    await store.append("project-1", "none", [
      {
        id: "10000000-0000-4000-8000-000000000000",
        type: "Other",
        data: {},
        metadata: metadataFor("10000000-0000-4000-8000-000000000000"),
      },
    ]);
    const head = await store.head();
    const { code, output } = await run(["restore", directory], target);
    expect(code).to.equal(65);
    expect(output).to.include("holds more events than what is imported");
    expect(await store.head()).to.equal(head);
  });
});
