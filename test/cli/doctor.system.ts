import { createHash, randomBytes } from "node:crypto";
import { chmod, rename, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";
import { userSubject } from "../../src/events/user/user.ts";
import { blobPath } from "../../src/platform/blob/store.ts";
import { noteLost, openVault } from "../../src/platform/key/vault.ts";
import { currentRun } from "../../src/platform/postgres/run.ts";
import type { WorkerDeps } from "../../src/services/core/deps.ts";
import { saveReactorPositions } from "../../src/services/core/reactor-checkpoint.ts";
import { secretKey, startTestApp } from "../support/app/app.ts";
import { basicAuth } from "../support/app/basic-auth.ts";
import { givenDelivery, givenWebhook } from "../support/client/webhook-order.ts";
import { commit, git, temporaryDirectory, unpackObjects, workingCopy } from "../support/git/git.ts";
import { runCli } from "../support/process/cli.ts";
import { testDatabase } from "../support/store/database.ts";

/** One instance that is damaged more and more, then mended, and checked in between. */
const app = await startTestApp();
/** As after `restore` or `events import`, and before the first start. */
const { url: databaseUrl, db: unbuilt } = await testDatabase("migrated");
const parent = await temporaryDirectory();
const withoutReadModels = { ...app, databaseUrl };
const content = "the bytes of a large file";
const oid = createHash("sha256").update(content).digest("hex");
let gitDir: string;
let copy: string;

before(async () => {
  const anna = await app.givenUser("anna");
  const { id } = await app.givenProject(anna, "search");
  copy = await workingCopy(parent, "copy");
  await commit(copy, "One", { "a.txt": "a\n" });
  const url = Object.assign(new URL("/project/anna/search.git", app.url), {
    ...{ username: "anna", password: anna.token },
  });
  await git(copy, "push", "--quiet", url.href, "main");
  gitDir = (await app.platform.git.find(id))?.gitDir ?? "";
  await unpackObjects(gitDir);
  const authorization = basicAuth("anna", anna.token);
  const at = `/project/anna/search.git/info/lfs/objects/${oid}/${content.length}`;
  const stored = await app.send("PUT", at, { headers: { authorization }, body: content });
  expect(stored.status, stored.text).to.equal(200);
});

async function doctorOf(
  service: Pick<typeof app, "databaseUrl" | "eventStoreUrl" | "dataDir">,
  ...args: string[]
) {
  const { code, out } = await runCli(service, "doctor", ...args);
  return { code, lines: out.trimEnd().split("\n") };
}
const doctor = (...args: string[]) => doctorOf(app, ...args);

const blobFile = () => path.join(app.dataDir, "blobs", blobPath(oid));
const looseFile = async (name: string) => {
  const id = await git(copy, "rev-parse", name);
  return path.join(gitDir, "objects", id.slice(0, 2), id.slice(2));
};

describe("ledgerforge doctor", function () {
  // Each look is a start of the program.
  this.timeout(600_000);

  it("finds nothing in an instance that is well, read models included", async () => {
    expect(await doctor("--read-models")).to.deep.equal({ code: 0, lines: ["Everything fits."] });
  });

  it("names an object that is missing, a file that is changed or gone, and a row that is wrong", async () => {
    const blob = await looseFile("HEAD:a.txt");
    await rename(blob, `${blob}.away`);
    await rename(blobFile(), `${blobFile()}.away`);
    await app.deps.db("project").update({ title: "Changed by hand" });

    const { code, lines } = await doctor("--read-models");
    expect(code).to.equal(1);
    const id = await git(copy, "rev-parse", "HEAD:a.txt");
    expect(lines[0]).to.contain("repository anna/search: git fsck: ").and.to.contain(id);
    expect(lines[1]).to.equal(`blob ${oid}: it is not there, and something refers to it`);
    expect(lines[2]).to.match(/^read model table project: its rows are not those the log gives/);
    expect(lines.slice(3)).to.deep.equal(["3 found."]);

    await writeFile(blobFile(), "other bytes of a large file");
    const changed = (await doctor()).lines.find((line) => line.startsWith("blob "));
    expect(changed).to.contain("its bytes were changed");
  });

  it("mends what it safely can, and says what is left", async () => {
    await git(gitDir, "--git-dir=.", "update-ref", "refs/heads/outside", "refs/heads/main");
    const { code, lines } = await doctor("--repair", "--read-models");
    expect(code).to.equal(1);
    expect(lines.filter((line) => line.endsWith("; repaired"))).to.have.length(1);
    expect(lines.find((line) => line.includes("refs/heads/outside"))).not.to.match(/repaired$/);
    expect(lines.at(-1)).to.equal("4 found, 1 of them repaired.");
    expect(await app.deps.db("project").first("title")).to.deep.equal({ title: "search" });
  });

  it("is content, and records what was done outside, when lost content is back", async () => {
    const blob = await looseFile("HEAD:a.txt");
    await rename(`${blob}.away`, blob);
    await chmod(blobFile(), 0o600);
    await rename(`${blobFile()}.away`, blobFile());
    const { code, lines } = await doctor("--repair");
    expect(code).to.equal(0);
    expect(lines[0]).to.match(/refs\/heads\/outside; repaired$/);
    expect((await doctor()).lines).to.deep.equal(["Everything fits."]);
  });

  it("finds that the log is not what it was when it was written", async () => {
    await app.deps
      .db("log_tree_leaf")
      .where({ index: 1 })
      .update({ hash: Buffer.alloc(32, 1) });
    const { code, lines } = await doctor();
    expect(code).to.equal(1);
    expect(lines[0]).to.match(/^log: changed after it was written: /);
    expect(lines.slice(1)).to.deep.equal(["1 found."]);
  });

  it("takes no word it does not know", async () => {
    expect((await doctor("--mend")).code).to.equal(64);
  });

  it("names a pending delivery that is not in line and puts it back, and a line that stands still", async () => {
    const { db, store } = app.deps;
    const deps = app.deps as unknown as WorkerDeps;
    const projectId = (await db("project").first("id"))?.id;
    const webhookId = await givenWebhook(deps, { projectId, url: "https://example.org" });
    const { deliveryId } = await givenDelivery(deps, { projectId, webhookId });
    const head = (await store.head()) ?? 0n;
    await app.deps.visible(head);
    const { id: runId } = await currentRun(db);
    await saveReactorPositions(db, new Map([["webhook-dispatch", head]]), runId);

    const lost = `webhook ${webhookId}: delivery ${deliveryId} is pending and not in line`;
    expect((await doctor()).lines).to.include(`${lost}: workers put it back within a minute`);
    expect((await doctor("--repair")).lines).to.include(`${lost}; repaired`);
    const due_at = new Date(Date.now() - 4 * 60_000);
    await db("webhook_outbox").where({ delivery_id: deliveryId }).update({ due_at });
    const stalled = (await doctor()).lines.filter((line) => line.includes(webhookId));
    expect(stalled).to.have.length(1);
    expect(stalled[0])
      .to.contain("its line has stood still since")
      .and.contain("1 deliveries wait");
    await db("webhook_outbox").delete();
  });

  it("names whose key is lost, and whose texts another key sealed, until that is noted", async () => {
    const { db } = app.deps;
    const { id } = await db("app_user").where({ alias: "anna" }).first("id");
    const subject = userSubject(id);
    const key = await db("public.vault_key").where({ subject }).first();
    await db("public.vault_key").where({ subject }).delete();
    const problems = async () => (await doctor()).lines.filter((line) => line.startsWith("user-"));
    expect(await problems()).to.match(/^user-\S+: its key is lost; see ledgerforge events/);
    await openVault(db, secretKey).seal(subject, "sealed by a new key");
    expect(await problems()).to.match(/^user-\S+: what was sealed for it was altered, or its/);
    await db("public.vault_key")
      .where({ subject })
      .update({ wrapped: randomBytes(60) });
    expect(await problems()).to.match(/^user-\S+: its key was wrapped by another SECRET_KEY; see/);
    await noteLost(db, [subject]);
    expect(await problems()).to.deep.equal([]);
    await db("public.vault_key").where({ subject }).update(key);
    await db("public.vault_key_gone").delete();
  });
});

describe("ledgerforge doctor on a database without read models", function () {
  this.timeout(600_000);

  it("names what it cannot check, and checks keys and what lies in files", async () => {
    const keys = await app.deps.db("public.vault_key").select("*");
    await unbuilt("public.vault_key").insert(keys);
    const { code, lines } = await doctorOf(withoutReadModels);
    expect(code).to.equal(1);
    expect(lines[0])
      .to.match(/^read models: none is built yet: start the service or run ledgerforge rebuild;/)
      .and.match(/not checked: refs and LFS files of repositories, /);
    expect(lines.slice(1)).to.deep.equal(["1 found."]);

    const blob = await looseFile("HEAD:a.txt");
    await rename(blob, `${blob}.away`);
    await chmod(blobFile(), 0o600);
    await writeFile(blobFile(), "other bytes of a large file");
    await unbuilt("public.vault_key").delete();
    const damaged = (await doctorOf(withoutReadModels, "--read-models", "--repair")).lines;
    expect(damaged[0]).to.match(/, rows of the read models$/);
    expect(damaged[1]).to.match(/^repository [0-9a-f-]{36}: git fsck: /);
    expect(damaged[2]).to.match(/^blob \w+: its bytes were changed/);
    expect(damaged[3]).to.match(/^user-\S+: its key is lost/);
    await rename(`${blob}.away`, blob);
    await writeFile(blobFile(), content);
  });

  it("names read models that a newer release lacks", async () => {
    const names = await app.deps.db("public.projection_checkpoint").pluck("name");
    const rows = names.slice(2).map((name) => ({
      ...{ name, version: 1, tables: [], position: 0 },
      state: "live",
    }));
    await unbuilt("public.projection_checkpoint").insert(rows);
    const { code, lines } = await doctorOf(withoutReadModels);
    expect(code).to.equal(1);
    const missing = names.slice(0, 2).join(", ");
    expect(lines[0]).to.contain(`read models: 2 are not built yet (${missing}): start`);
  });

  it("says of a database that the service was never started on that it has no tables", async () => {
    await unbuilt.raw("drop schema public cascade");
    await unbuilt.raw("create schema public");
    const { code, lines } = await doctorOf(withoutReadModels);
    expect(code).to.equal(1);
    expect(lines[0])
      .to.match(/^database: it lacks tables of this release: start the service on it;/)
      .and.match(/ not checked: /);
    expect(lines.slice(1)).to.deep.equal(["1 found."]);
  });
});
