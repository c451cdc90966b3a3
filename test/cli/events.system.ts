import { spawn } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { open, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { text } from "node:stream/consumers";
import { expect } from "chai";
import type { Knex } from "knex";

import { userSubject } from "../../src/events/user/user.ts";
import type { EventStore } from "../../src/platform/event-store/event-store.ts";
import { openVault } from "../../src/platform/key/vault.ts";
import { secretKey, startTestApp } from "../support/app/app.ts";
import { metadataFor } from "../support/app/history.ts";
import { expectOk, issueClient } from "../support/app/issue.ts";
import { program, runProgram } from "../support/app/service.ts";
import { temporaryDirectory } from "../support/git/git.ts";
import { testDatabase } from "../support/store/database.ts";
import { testEventStore } from "../support/store/event-store.ts";

const app = await startTestApp();
const { url: databaseUrl, db } = await testDatabase();
const { url: eventStoreUrl, store } = await testEventStore();
const directory = await temporaryDirectory();

type Beside = Readonly<{ databaseUrl: string; eventStoreUrl: string }>;
const target: Beside = { databaseUrl, eventStoreUrl };

const environmentOf = (on: Beside): Record<string, string> => ({
  DATABASE_URL: on.databaseUrl,
  EVENTSTORE_URL: on.eventStoreUrl,
  DATA_DIR: directory,
  SECRET_KEY: secretKey,
  LOG_LEVEL: "silent",
});

async function run(on: Beside, ...args: readonly string[]) {
  return runWith(environmentOf(on), args);
}

async function runWith(environment: Record<string, string>, args: readonly string[]) {
  const running = runProgram(args, environment);
  const [code] = await running.exited;
  return { code, output: running.output() };
}

/** What the log says, in its order; positions and the times of storing are those of a store. */
async function saidIn(of: EventStore): Promise<readonly unknown[]> {
  const said: unknown[] = [];
  for await (const { position: _, recordedAt: __, ...event } of of.readAll()) said.push(event);
  return said;
}

type KeysCase = readonly [
  what: string,
  change: (lines: readonly string[]) => readonly string[],
  code: number,
  message: RegExp,
];

/** The key of one line under the subject of another. */
const keyOf = (line: string, other: string): string =>
  JSON.stringify({ ...JSON.parse(line), wrapped: JSON.parse(other).wrapped });

describe("a log that moves to other stores", function () {
  this.timeout(120_000);
  const file = path.join(directory, "events.jsonl");
  const headFile = path.join(directory, "head.json");
  const keysFile = path.join(directory, "keys.jsonl");
  let root = "";
  /** Exported with the keys, and forgotten since. */
  let forgotten = "";

  before(async () => {
    const anna = await app.givenUser("anna");
    await app.givenProject(anna, "search");
    const issues = issueClient(app, anna, "anna/search");
    const { localId } = await issues.created();
    expectOk(await issues.edit(localId, { description: "Find \u2028 text" }));
    const ben = await app.givenUser("ben");
    const keys = await run(app, "events", "export", "--keys");
    expect(keys.code).to.equal(0);
    await writeFile(keysFile, keys.output);
    forgotten = userSubject(ben.id);
    expect((await run(app, "forget", "ben")).code).to.equal(0);
    const { code, output } = await run(app, "events", "export", "--sealed");
    expect(code).to.equal(0);
    await writeFile(file, output);
    const head = await app.get("/log/head", { token: anna.token });
    root = String(expectOk(head)["rootHash"]);
    await writeFile(headFile, head.text);
  });

  it("is refused where it was changed or cut off since a head that was kept", async () => {
    const lines = (await readFile(file, "utf8")).trimEnd().split("\n");
    const other = path.join(directory, "other.jsonl");
    for (const [what, some] of [
      ["changed", lines.map((line) => line.replace('"title":"search"', '"title":"found"'))],
      ["cut off", lines.slice(0, -1)],
      ["without its middle", lines.filter((line) => !line.includes('"LocalIdAssigned"'))],
    ] as const) {
      expect(some, what).to.not.deep.equal(lines);
      await writeFile(other, `${some.join("\n")}\n`);
      const { code, output } = await run(target, "events", "import", other, "--head", headFile);
      expect(code, output).to.equal(65);
      expect(output, what).to.match(/does not begin with the \d+ events/);
    }
    expect(await saidIn(store)).to.deep.equal([]);
  });

  it("is not taken for exported where the disk is full", async () => {
    const full = await open("/dev/full", "w");
    const environment = { ...environmentOf(app), PATH: process.env["PATH"] };
    const stdio = ["ignore", full.fd, "pipe"] as const;
    const args = [program, "events", "export", "--sealed"];
    const child = spawn(process.execPath, args, { env: environment, stdio: [...stdio] });
    const [errors, [code]] = await Promise.all([text(child.stderr!), once(child, "exit")]);
    await full.close();
    expect({ code, errors }).to.deep.equal({
      code: 74,
      errors: "The output is incomplete: it cannot be written (ENOSPC).\n",
    });
  });

  it("is refused by name where there is no file to read", async () => {
    for (const [name, reason] of [
      [directory, "EISDIR"],
      [`${directory}/none`, "ENOENT"],
    ] as const) {
      const { code, output } = await run(target, "events", "import", name);
      expect(code, output).to.equal(64);
      expect(output.trim()).to.equal(`The file ${name} cannot be read (${reason}).`);
    }
  });

  it("is refused where it holds other bytes than text", async () => {
    const damaged = path.join(directory, "damaged.jsonl");
    const bytes = await readFile(file);
    bytes[bytes.indexOf('"title":"search"') + 12] = 0xff;
    await writeFile(damaged, bytes);
    const { code, output } = await run(target, "events", "import", damaged);
    expect({ code, output }).to.deep.equal({ code: 65, output: `${damaged} is not UTF-8.\n` });
  });

  for (const [what, change, code, message] of [
    ["cut off", (lines) => lines.slice(0, -1), 65, /is cut off: its last line is missing/],
    ["without a key", (lines) => lines.toSpliced(1, 1), 65, /lines are missing/],
    ["with more at its end", (lines) => [...lines, lines[1]!], 65, /line \d+ of .* is none of/],
    ["empty", () => [], 65, /is cut off/],
    ["of another kind", () => ["{}"], 65, /line 1 of .* is none of/],
    ["without its beginning", (lines) => lines.slice(1), 65, /line 1 of .* not the beginning/],
    [
      "with the key of another subject",
      ([head, first, second, ...rest]) => [head!, keyOf(first!, second!), second!, ...rest],
      65,
      /line 2 of .* was changed/,
    ],
    [
      "of an instance with another SECRET_KEY",
      ([, ...rest]) => [JSON.stringify({ format: 1, keyCheck: "ab".repeat(32) }), ...rest],
      78,
      /SECRET_KEY is not the one that the keys were exported with/,
    ],
  ] satisfies readonly KeysCase[]) {
    it(`changes nothing where the file of keys is ${what}`, async () => {
      const lines = (await readFile(keysFile, "utf8")).trimEnd().split("\n");
      const changed = path.join(directory, "changed-keys.jsonl");
      await writeFile(
        changed,
        change(lines)
          .map((line) => `${line}\n`)
          .join(""),
      );
      const found = await run(target, "events", "import", file, "--keys", changed);
      expect(found.code, found.output).to.equal(code);
      expect(found.output).to.match(message);
      expect(await saidIn(store)).to.deep.equal([]);
    });
  }

  it("changes nothing where the keys are those of another instance with the same SECRET_KEY", async () => {
    const { id } = await app.deps.db("app_user").where({ alias: "anna" }).first("id");
    const subject = userSubject(id);
    const elsewhere = await testDatabase();
    await openVault(elsewhere.db, secretKey).seal(subject, "of another instance");
    const { wrapped } = await elsewhere.db("vault_key").where({ subject }).first("wrapped");
    const lines = (await readFile(keysFile, "utf8")).split("\n");
    const index = lines.findIndex((line) => line.includes(subject));
    const keys = path.join(directory, "other-keys.jsonl");
    const line = JSON.stringify({ subject, wrapped: wrapped.toString("base64") });
    await writeFile(keys, lines.with(index, line).join("\n"));
    const { code, output } = await run(target, "events", "import", file, "--keys", keys);
    expect(code, output).to.equal(65);
    expect(output).to.include(`line ${index + 1} of ${keys} is a key of ${subject} that does not`);
    expect(await saidIn(store)).to.deep.equal([]);
    expect(await db("vault_key")).to.deep.equal([]);
  });

  it("has the same events in the same order under the same head, however often it is imported", async () => {
    for (const _ of ["first", "again"]) {
      const { code, output } = await run(target, "events", "import", file, "--head", headFile);
      expect(code, output).to.equal(0);
      expect(output).to.include(root);
      expect(await saidIn(store)).to.deep.equal(await saidIn(app.deps.store));
    }
  });

  it("reads the file of its keys to check it, to compare it and to put it", async () => {
    const [database, events] = [await testDatabase(), await testEventStore()];
    const on = { databaseUrl: database.url, eventStoreUrl: events.url };
    const noting = `import fs from "node:fs"; import { syncBuiltinESMExports } from "node:module";
      const { createReadStream } = fs;
      fs.createReadStream = (file, ...more) => {
        console.error("reads " + file);
        return createReadStream(file, ...more);
      };
      syncBuiltinESMExports();`;
    const options = `--import=data:text/javascript,${encodeURIComponent(noting)}`;
    const environment = { ...environmentOf(on), NODE_OPTIONS: options };
    const args = ["events", "import", file, "--keys", keysFile];
    const { code, output } = await runWith(environment, args);
    expect(code, output).to.equal(0);
    expect(output.split(`reads ${keysFile}\n`)).to.have.length(1 + 3);
  });

  it("shows the same read models and audit once the keys were moved as well", async () => {
    for (const _ of ["first", "again"]) {
      const { code, output } = await run(target, "events", "import", file, "--keys", keysFile);
      expect(code, output).to.equal(0);
      expect(output).not.to.include("missing");
    }
    const keys = (of: Knex) => of("vault_key").orderBy("subject").select("subject", "wrapped");
    expect(await keys(db)).to.deep.equal(await keys(app.deps.db));
    expect(await db("vault_key").where({ subject: forgotten })).to.deep.equal([]);
    const rebuilt = await run(target, "rebuild");
    expect(rebuilt.code, rebuilt.output).to.equal(0);
    const rows = (of: Knex, table: string, columns: readonly string[]) =>
      of(`read_model.${table}`)
        .orderBy([...columns])
        .select([...columns]);
    for (const [table, ...columns] of [
      ["app_user", "id", "alias", "email", "password_hash"],
      ["project", "id", "alias", "owner_id"],
      ["issue", "id", "local_id", "title", "description"],
      ["audit_entry", "event_id", "stream", "revision", "type", "actor_alias", "digest"],
      ["log_tree_leaf", "index", "hash"],
      ["log_tree_node", "level", "index", "hash"],
    ] as const) {
      const own = await rows(app.deps.db, table, columns);
      expect(own, table).not.to.deep.equal([]);
      expect(await rows(db, table, columns), table).to.deep.equal(own);
    }
    const verified = await run(target, "audit", "verify");
    expect(verified.code, verified.output).to.equal(0);
  });

  it("names the event that a read model cannot apply when it is rebuilt", async () => {
    const metadata = metadataFor(randomUUID());
    const event = { id: metadata.commandId, type: "LabelCreated", data: {}, metadata };
    const { position } = await store.append("label-wrong", "none", [event]);
    for (const more of [[], ["--until", String(position)]]) {
      const { code, output } = await run(target, "rebuild", "label", ...more);
      const what = `Projection label cannot apply LabelCreated at ${position} in label-wrong`;
      expect([code, output.startsWith(what)], output).to.deep.equal([65, true]);
      expect(output)
        .to.match(/ stays as it was\.\n$/)
        .and.not.include("    at ");
    }
  });

  it("can be used without its keys: what they sealed reads as forgotten", async () => {
    const [database, events] = [await testDatabase(), await testEventStore()];
    const other: Beside = { databaseUrl: database.url, eventStoreUrl: events.url };
    const imported = await run(other, "events", "import", file);
    expect(imported.code, imported.output).to.equal(0);
    expect(imported.output).to.match(/Keys of \d+ people, projects and others are missing/);
    const anna = await app.deps.db("app_user").where({ alias: "anna" }).first("id");
    await openVault(database.db, secretKey).seal(userSubject(anna.id), "sealed since");
    const rebuilt = await run(other, "rebuild");
    expect(rebuilt.code, rebuilt.output).to.equal(0);
    const found = await database.db("read_model.app_user").where({ alias: "anna" }).first("email");
    expect(found).to.deep.equal({ email: null });
    const late = await run(other, "events", "import", file, "--keys", keysFile);
    expect(late.code, late.output).to.equal(65);
    expect(late.output).to.include(`another key of ${userSubject(anna.id)}`);
  });

  it("moves on with a note of keys that were lost before others replaced them", async () => {
    const [first, second] = await Promise.all([testDatabase(), testDatabase()]);
    const [from, to] = await Promise.all([testEventStore(), testEventStore()]);
    const other: Beside = { databaseUrl: first.url, eventStoreUrl: from.url };
    expect((await run(other, "events", "import", file)).code).to.equal(0);
    const anna = await app.deps.db("app_user").where({ alias: "anna" }).first("id");
    const vault = openVault(first.db, secretKey);
    const sealed = await vault.seal(userSubject(anna.id), "sealed since");
    // As of an instance that went on after its SECRET_KEY was replaced.
    await first.db("vault_key").insert({ subject: forgotten, wrapped: randomBytes(60) });
    const keys = path.join(directory, "keys-since.jsonl");
    await writeFile(keys, (await run(other, "events", "export", "--keys")).output);

    const next: Beside = { databaseUrl: second.url, eventStoreUrl: to.url };
    const imported = await run(next, "events", "import", file, "--keys", keys);
    expect(imported.code, imported.output).to.equal(0);
    expect(await openVault(second.db, secretKey).open(sealed)).to.equal("sealed since");
    const rebuilt = await run(next, "rebuild", "user");
    expect(rebuilt.code, rebuilt.output).to.equal(0);
  });

  it("is not worked on with a database that has none of its keys, until that is accepted", async () => {
    const [former, lost, events] = [
      ...(await Promise.all([testDatabase(), testDatabase()])),
      await testEventStore(),
    ];
    const before: Beside = { databaseUrl: former.url, eventStoreUrl: events.url };
    expect((await run(before, "events", "import", file, "--keys", keysFile)).code).to.equal(0);
    const wrongKey = { ...environmentOf(before), SECRET_KEY: "another key than that of the suite" };
    const gone = await former.db("vault_key_gone");
    const wrong = await runWith(wrongKey, ["events", "note-lost-keys"]);
    expect(wrong.code, wrong.output).to.equal(78);
    expect(await former.db("vault_key_gone")).to.deep.equal(gone);

    const on: Beside = { databaseUrl: lost.url, eventStoreUrl: events.url };
    const started = await run(on, "start", "projections");
    expect(started.code, started.output).to.equal(78);
    expect(started.output).to.match(/^The database has none of the keys of this log\..*\n$/);

    const noted = await run(on, "events", "note-lost-keys");
    expect(noted.code, noted.output).to.equal(0);
    expect(noted.output).to.match(/^Keys of [1-9]\d* people, projects and others are lost/);
    const { id } = await app.deps.db("app_user").where({ alias: "anna" }).first("id");
    await openVault(lost.db, secretKey).seal(userSubject(id), "sealed since");
    const rebuilt = await run(on, "rebuild");
    expect(rebuilt.code, rebuilt.output).to.equal(0);
    expect((await run(on, "events", "note-lost-keys")).output).to.equal("No keys are lost.\n");
  });
});
