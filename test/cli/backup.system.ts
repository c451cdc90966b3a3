import { createHash } from "node:crypto";
import { appendFile, readdir, readFile, rename, writeFile } from "node:fs/promises";
import path from "node:path";
import { Readable } from "node:stream";
import { gunzipSync } from "node:zlib";
import { expect } from "chai";
import type { Knex } from "knex";
import pino from "pino";

import { digestOfFile } from "../../src/cli/backup/line-file.ts";
import { findManifest, writeManifest } from "../../src/cli/backup/manifest.ts";
import { backUp } from "../../src/cli/backup.ts";
import type { Stores } from "../../src/cli/stores.ts";
import { readSettings, requireStores } from "../../src/config.ts";
import { eventDigest } from "../../src/events/core/canonical.ts";
import type { Sealed } from "../../src/events/core/sealed.ts";
import { projectSubject } from "../../src/events/project/project.ts";
import { directoryOf } from "../../src/git/repositories.ts";
import { startRoles } from "../../src/main.ts";
import { openBlobs } from "../../src/platform/blob/open.ts";
import { blobPath } from "../../src/platform/blob/store.ts";
import type { EventStore } from "../../src/platform/event-store/event-store.ts";
import { openVault } from "../../src/platform/key/vault.ts";
import { withLock } from "../../src/platform/postgres/leader.ts";
import { allProjections } from "../../src/projections/all.ts";
import { rebuild } from "../../src/projections/core/rebuild.ts";
import { putReactors, setBackReactors } from "../../src/services/core/reactor-checkpoint.ts";
import { areReactorsHeld, holdReactors } from "../../src/services/core/reactor-hold.ts";
import { allReactors } from "../../src/workers/all.ts";
import { secretKey } from "../support/app/app.ts";
import { startGitApp, type TestProject, type TestUser } from "../support/app/git-app.ts";
import { metadataFor } from "../support/app/history.ts";
import { runProgram } from "../support/app/service.ts";
import { commit, git, temporaryDirectory, workingCopy } from "../support/git/git.ts";
import { testDatabase } from "../support/store/database.ts";
import { testEventStore } from "../support/store/event-store.ts";

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

/** What the commands are given to work with on the source, in this process. */
const stores = (): Stores => ({
  config: requireStores(
    readSettings({
      DATABASE_URL: source.databaseUrl,
      EVENTSTORE_URL: source.eventStoreUrl,
      DATA_DIR: source.dataDir,
      SECRET_KEY: secretKey,
    }),
  ),
  log: pino({ level: "silent" }),
  db: app.db,
  store: app.store,
  vault: app.vault,
});

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

  const never = new AbortController().signal;
  /** Of the files that the manifest names: what they were, and what they are. */
  const digestsOfNamed = async () => {
    const { events, tables } = (await findManifest(directory))!;
    const files = [events, tables].map(({ name }) => path.join(directory, name));
    const actual = await Promise.all(files.map(digestOfFile));
    return { expected: [events.sha256, tables.sha256], actual };
  };

  it("stays whole when a later one at the same position is interrupted", async () => {
    const before = await manifest();
    const given = stores();
    const store: EventStore = Object.create(given.store, {
      head: { value: async () => BigInt(before.position) },
      readAll: {
        value: async function* () {
          yield* given.store.readAll({ countMax: 1 });
          throw new Error("cut off");
        },
      },
    });
    const error: unknown = await backUp({ ...given, store }, directory, never).catch(
      (reason: unknown) => reason,
    );
    expect(String(error)).to.equal("Error: cut off");
    expect(await manifest()).to.deep.equal(before);
    const { expected, actual } = await digestsOfNamed();
    expect(actual).to.deep.equal(expected);
  });

  it("is made by one process at a time", async () => {
    const before = await readdir(directory);
    const held = await withLock(source.databaseUrl, "backup", never, () =>
      backUp(stores(), directory, never),
    );
    expect(held).to.deep.equal({ result: undefined });
    expect(await readdir(directory)).to.deep.equal(before);
  });

  it("is not written when its files are gone", async () => {
    const before = (await findManifest(directory))!;
    const gone = { ...before, events: { ...before.events, name: "events-9.jsonl.gz" } };
    const error: unknown = await writeManifest(directory, gone).catch((reason: unknown) => reason);
    expect(error).to.have.property("code", "ENOENT");
    expect(await findManifest(directory)).to.deep.equal(before);
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

  it("is restored without what was damaged or removed in it, which is named", async () => {
    const { url: otherDb } = await testDatabase();
    const { url: otherStore, store: others } = await testEventStore();
    const own = await temporaryDirectory();
    const file = path.join(directory, "blobs", blobPath(digest));
    const gitDir = directoryOf(path.join(directory, "repositories"), project.id);
    await writeFile(file, "damaged");
    await rename(gitDir, `${gitDir}.away`);
    const beside = { databaseUrl: otherDb, eventStoreUrl: otherStore, dataDir: own };
    const { code, output } = await run(["restore", directory], beside);
    await writeFile(file, content);
    await rename(`${gitDir}.away`, gitDir);
    expect(code, output).to.equal(1);
    expect(output).to.include("0 repositories and 0 large files.\n");
    expect(output).to.include(`${file} is damaged and was left out.\n`);
    expect(output).to.include("repositories that the backup had are missing there: 1.\n");
    expect(await digests(others)).to.deep.equal(await digests(app.store));
  });

  it("gives an empty instance the same log, keys, repositories and files, as often as it is run", async () => {
    // As a later backup leaves them that is interrupted.
    const repositories = path.join(directory, "repositories");
    const later = directoryOf(repositories, project.id);
    const head = await git(later, "rev-parse", "refs/heads/main");
    await git(later, "update-ref", "refs/heads/main", `${head}~1`);
    await git(later, "update-ref", "refs/heads/later", head);
    await git(later, "update-ref", "-d", "refs/heads/dev");
    const unknown = "10000000-0000-4000-8000-00000000abcd";
    await git(directory, "init", "--quiet", "--bare", directoryOf(repositories, unknown));

    // Remembers which reactors were held, though nothing of that is left at the end.
    await db.raw(
      `create table public.held (name text);
       create function public.note_held() returns trigger language plpgsql as
         'begin insert into public.held values (new.name); return new; end';
       create trigger note_held before insert on public.reactor_checkpoint
         for each row when (new.position = ${2n ** 63n - 1n}) execute function public.note_held()`,
    );

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
    const ofUnknown = directoryOf(path.join(dataDir, "repositories"), unknown);
    expect(await readdir(ofUnknown).catch(() => "gone")).to.equal("gone");
    const blobs = await openBlobs({ dataDir }, db);
    expect(await blobs.stat(digest)).to.deep.equal({ bytes: content.length });
    expect(await openVault(db, secretKey).open(sealed)).to.equal("known");
    const reactors = await db("public.reactor_checkpoint").orderBy("name").pluck("name");
    expect(reactors).to.deep.equal(["early", "late"]);
    const held = await db("public.held").pluck("name");
    expect(held).to.have.members(allReactors.map(({ name }) => name));
    await db.raw("drop trigger note_held on public.reactor_checkpoint");
  });

  it("lets no role start between its first event and its end", async () => {
    const rows = () => db("public.reactor_checkpoint").orderBy("name").select("name", "position");
    const before = await rows();
    await holdReactors(db, ["early", "new"]);
    // A rebuild beside it takes nothing for a log that is older.
    await setBackReactors(db, 5n);
    const config = { ...stores().config, databaseUrl, eventStoreUrl, dataDir };
    const { signal } = new AbortController();
    const error: unknown = await startRoles(config, ["projections"], { signal }).then(
      ({ close }) => close(),
      (reason: unknown) => reason,
    );
    expect(String(error)).to.match(/^LogNotWhole: The log of this instance is not whole/);
    const positions = before.map(({ name, position }) => [name, BigInt(position)] as const);
    await putReactors(db, new Map(positions));
    expect(await rows()).to.deep.equal(before);
    expect(await areReactorsHeld(db)).to.equal(false);
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
      ["log_tree_leaf", "index", "hash"],
      ["log_tree_node", "level", "index", "hash"],
      ["log_tree_head", "size", "edge"],
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
