import { randomUUID } from "node:crypto";
import { expect } from "chai";
import pino from "pino";

import { forgetUser } from "../../../src/commands/user/forget-user.ts";
import { commandDeps } from "../../../src/http/core/command-deps.ts";
import type { OnChange } from "../../../src/projections/progress/visible.ts";
import type { GitCaller } from "../../../src/services/git/caller.ts";
import { gitConnections } from "../../../src/services/git/connections.ts";
import { startTestApp, type TestUser } from "../../support/app/app.ts";
import { eventually } from "../../support/app/eventually.ts";
import { metadataFor } from "../../support/app/history.ts";

const app = await startTestApp();
const { db } = app.deps;
let tell: OnChange = () => undefined;
const connections = gitConnections({
  db,
  onChange: (listener) => {
    tell = listener;
  },
  log: pino({ level: "silent" }),
  now: () => new Date(),
});

let counter = 0;
let anna: TestUser;
beforeEach(async () => {
  counter += 1;
  anna = await app.givenUser(`anna-${counter}`);
});

type Via = GitCaller["actor"]["via"];

/** A connection under way, and whether it was cut. */
async function open(via: Via, proof: Readonly<{ tokenId?: string; sshKeyId?: string }> = {}) {
  const { tokenId = null, ...key } = proof;
  const actor = { userId: anna.id, alias: anna.alias, via, tokenId };
  const state = { cut: false };
  const stop = connections.watch({ actor, userId: anna.id, ...key }, () => {
    state.cut = true;
  });
  return { state, stop };
}

/** An application that the user has let in. */
async function authorized(): Promise<string> {
  const id = randomUUID();
  await db("oauth_authorization").insert({
    ...{ id, user_id: anna.id, application_id: randomUUID() },
    ...{ scopes: ["PROJECT_READ"], code_hash: id, approved_at: new Date() },
  });
  return id;
}

/** The valid one was checked before it, and stays open. */
async function cutAlone(gone: Awaited<ReturnType<typeof open>>, good = gone): Promise<void> {
  await eventually(() => gone.state.cut);
  if (good !== gone) expect(good.state.cut).to.equal(false);
}

/** Those opened before were checked as they began. */
async function begun(): Promise<void> {
  await cutAlone(await open("oauth", { tokenId: randomUUID() }));
}

describe("a connection of git", () => {
  it("does not begin for a user who was forgotten meanwhile", async () => {
    const { position } = await forgetUser(
      commandDeps(app.deps),
      anna.id,
      metadataFor(randomUUID()),
    );
    await app.deps.visible(position);
    await cutAlone(await open("password"));
  });

  it("ends with the application's right that it was opened by, and no other does", async () => {
    const [kept, revoked] = [await authorized(), await authorized()];
    const good = await open("oauth", { tokenId: kept });
    const gone = await open("oauth", { tokenId: revoked });
    await begun();
    await db("oauth_authorization").where({ id: revoked }).delete();
    tell(`application-${randomUUID()}`);
    await cutAlone(gone, good);
  });

  it("is checked when anything may have changed unheard", async () => {
    const good = await open("password");
    const gone = await open("ssh", { sshKeyId: randomUUID() });
    await cutAlone(gone, good);
    const again = await authorized();
    const later = await open("oauth", { tokenId: again });
    await begun();
    await db("oauth_authorization").where({ id: again }).delete();
    tell(undefined);
    await cutAlone(later, good);
  });

  it("is not checked any more once it is over", async () => {
    const over = await open("oauth", { tokenId: randomUUID() });
    over.stop();
    const gone = await open("oauth", { tokenId: randomUUID() });
    await cutAlone(gone, over);
  });
});
