import { randomUUID } from "node:crypto";
import { EventStoreDBClient, jsonEvent } from "@eventstore/db-client";
import { expect } from "chai";

import type { NewEvent } from "../../../src/events/core/event.ts";
import { protectionStream } from "../../../src/events/protection/protection.ts";
import { repositoryStream } from "../../../src/events/repository/repository.ts";
import type { CheckpointRow } from "../../../src/projections/core/checkpoint.ts";
import { startTestApp, type TestProject, type TestUser } from "../../support/app/app.ts";
import { eventually } from "../../support/app/eventually.ts";
import { at, metadataFor } from "../../support/app/history.ts";
import { changeCheckpoints } from "../../support/app/projection.ts";
import { startReceiver } from "../../support/client/receiver.ts";
import { commit, git, temporaryDirectory, workingCopy } from "../../support/git/git.ts";

/** What one tenant sends or pushes never stops a read model, a reactor or a webhook of another. */
const app = await startTestApp({ workers: true });
const loneSurrogate = "a\ud800*";
let anna: TestUser;
let admin: TestUser;
let project: TestProject;
let copy: string;
const forge = "/project/anna/forge";

before(async () => {
  anna = await app.givenUser("anna");
  admin = await app.givenUser("root", { admin: true });
  project = await app.givenProject(anna, "forge");
  copy = await workingCopy(await temporaryDirectory(), "copy");
  await commit(copy, "First", { "a.txt": "a\n" });
  const remote = `${app.url.replace("//", `//anna:${anna.token}@`)}${forge}.git`;
  await git(copy, "remote", "add", "origin", remote);
  await git(copy, "push", "--quiet", "origin", "main");
});

const stateOf = async (name: string): Promise<string | undefined> =>
  (await app.platform.db<CheckpointRow>("projection_checkpoint").where({ name }).first())?.state;

describe("a text that no store can keep", () => {
  for (const [what, method, path, body] of [
    ["a template", "POST", `${forge}/branch-protection/create`, { branchTemplate: loneSurrogate }],
    ["a setting", "POST", "/admin/settings/login-page", { any: loneSurrogate }],
    ["a login connection", "POST", "/admin/oidc", { name: loneSurrogate, scopes: [loneSurrogate] }],
    ["a project", "POST", "/project", { title: loneSurrogate }],
    ["a name of a field", "POST", "/project", { [loneSurrogate]: "a" }],
  ] as const) {
    it(`is refused in ${what}`, async () => {
      const { token } = path.startsWith("/admin") ? admin : anna;
      // Workers may append on account of what came before; a request that appends always does.
      await eventually(async () => {
        const head = await app.head();
        const answer = await app.send(method, path, { token, body });
        expect([answer.status, answer.body["code"]]).to.deep.equal([422, "body.lone_surrogate"]);
        return (await app.head()) === head;
      });
    });
  }

  it("is refused by the store whatever it comes from", async () => {
    for (const text of ["\ud800", "a\0"]) {
      const id = randomUUID();
      const event: NewEvent = { id, type: "T", data: { a: [{ text }] }, metadata: metadataFor(id) };
      const written = app.platform.store.append(`tested-${id}`, "none", [event]);
      await expect(written).to.be.rejectedWith("holds a NUL or half of a surrogate pair");
    }
  });

  it("does not stop a read model when the log holds it", async () => {
    const client = EventStoreDBClient.connectionString(app.eventStoreUrl);
    after(() => client.dispose());
    const rule = { kind: "BRANCH", template: loneSurrogate, allowedToPush: "NO_ONE" };
    const data = {
      ruleId: randomUUID(),
      parentId: project.id,
      parentType: "PROJECT",
      rule: { ...rule, allowedToMerge: "NO_ONE", allowForcePush: false },
      createdById: anna.id,
      createdAt: at,
    };
    const metadata = metadataFor(randomUUID());
    const type = "ProtectionRuleCreated";
    const event = jsonEvent({ id: randomUUID(), type, data, metadata });
    const result = await client.appendToStream(protectionStream(project.id), [event]);
    await app.deps.visible(result.position?.commit);
    expect(await stateOf("protection")).to.equal("live");
    const { text } = await app.get(`${forge}/branch-protection`, { token: anna.token });
    expect(text).to.contain("a\ufffd*");
  });
});

describe("a read model that decides rights and has stopped", () => {
  const stop = (name: string, state: string) =>
    changeCheckpoints(app.platform.db, (all) => all.where({ name }).update({ state }));

  for (const name of ["protection", "member", "lfs_lock"]) {
    it(`has changes of refs refused, not accepted: ${name}`, async () => {
      await stop(name, "failed");
      try {
        const body = { newBranch: `from-${name}` };
        const answer = await app.post(`${forge}/branch`, { token: anna.token, body });
        expect([answer.status, answer.body["code"]]).to.deep.equal([503, "projection.not_current"]);
        const push = git(copy, "push", "--quiet", "origin", `main:refs/heads/pushed-${name}`);
        await expect(push).to.be.rejectedWith(/503|not up to date/);
      } finally {
        await stop(name, "live");
      }
      const body = { newBranch: `from-${name}` };
      const answer = await app.post(`${forge}/branch`, { token: anna.token, body });
      expect(answer.status, answer.text).to.equal(200);
    });
  }
});

describe("a push full of control characters", () => {
  it("is sent to webhooks, and so is what follows it", async () => {
    const receiver = await startReceiver();
    const body = { url: receiver.url, events: { BRANCH_CREATE: true, BRANCH_UPDATE: true } };
    const made = await app.post(`${forge}/setting/webhook`, { token: anna.token, body });
    expect(made.status, made.text).to.equal(200);
    const noise = "\u0001".repeat(60_000);
    for (let n = 0; n < 20; n += 1) {
      const name = `a${"\u0002".repeat(3_000)}z`;
      await git(
        copy,
        "-c",
        "core.commentChar=;",
        "commit",
        "--allow-empty",
        "--quiet",
        `--author=${name} <a@b>`,
        "-m",
        `${n}${noise}`,
      );
    }
    await git(copy, "push", "--quiet", "origin", "main");
    // What was pushed before the webhook was made may be delivered as well.
    const delivered = () =>
      receiver.received.filter(({ body }) => JSON.parse(body).push?.commits?.length === 20);
    await eventually(() => delivered().length === 1, 30_000);
    expect(delivered()[0]?.body.length).to.be.lessThan(400 * 1024);
    const before = receiver.received.length;
    await git(copy, "push", "--quiet", "origin", "main:after");
    await eventually(() => receiver.received.length > before, 30_000);
  });
});

describe("an event that a reactor can never react to", () => {
  it("is set aside, shown, tried again on request, and delays no other event", async () => {
    const client = EventStoreDBClient.connectionString(app.eventStoreUrl);
    after(() => client.dispose());
    // A branch event without its fields: decoding it fails today and tomorrow.
    const id = randomUUID();
    const metadata = metadataFor(randomUUID());
    const event = jsonEvent({ id, type: "BranchCreated", data: {}, metadata });
    await client.appendToStream(repositoryStream(randomUUID()), [event]);
    const rows = () => app.platform.db("public.reactor_set_aside").where("event_id", id);
    await eventually(async () =>
      (await rows()).some((row) => row.reactor === "webhook-notification"),
    );
    const { text } = await app.get("/metrics", { token: admin.token });
    expect(text).to.match(/^reactor_set_aside\{reactor="webhook-notification"\} 1$/m);
  });
});
