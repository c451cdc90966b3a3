import { randomUUID } from "node:crypto";
import { expect } from "chai";

import { currentState } from "../../../src/commands/core/handle.ts";
import {
  changeUserAlias,
  changeUserEmail,
  changeUserPassword,
} from "../../../src/commands/user/change-user.ts";
import { linkToken } from "../../../src/commands/user/link-token.ts";
import { registerUser } from "../../../src/commands/user/register-user.ts";
import { takeBackEmail } from "../../../src/commands/user/use-link.ts";
import { user } from "../../../src/commands/user/user.ts";
import { decode } from "../../../src/events/core/decode.ts";
import { Alias, UserId } from "../../../src/events/core/ids.ts";
import { userEvents, userStream } from "../../../src/events/user/user.ts";
import type { EventStore } from "../../../src/platform/event-store/event-store.ts";
import { openVault } from "../../../src/platform/key/vault.ts";
import { metadataFor } from "../../support/app/history.ts";
import { cheapHash } from "../../support/app/password.ts";
import { testDatabase } from "../../support/store/database.ts";
import { testEventStore } from "../../support/store/event-store.ts";

const { db } = await testDatabase();
const { store } = await testEventStore();
const vault = openVault(db, "a secret key of the test suite");

let nowMs = Date.parse("2026-01-02T03:04:05.678Z");
const deps = { store, vault, now: () => new Date(nowMs).toISOString(), hash: cheapHash };

async function registered(alias: string, mailbox: string = randomUUID()): Promise<UserId> {
  const userId = UserId.parse(randomUUID());
  const email = `${mailbox}@example.org`;
  const rest = { password: "first password", admin: false, confirmed: true };
  const newUser = { userId, alias: Alias.parse(alias), email, ...rest };
  await registerUser(deps, newUser, metadataFor(randomUUID()));
  return userId;
}

const change = (userId: UserId) => ({ userId, by: userId, metadata: metadataFor(randomUUID()) });
const rename = (userId: UserId, alias: string, over: Partial<typeof deps> = {}) =>
  changeUserAlias({ ...deps, ...over }, change(userId), Alias.parse(alias));
const readdress = (userId: UserId, email: string, by: UserId = userId) =>
  changeUserEmail(deps, { ...change(userId), by }, { email, confirmed: true });
const stateOf = (userId: UserId) => currentState(store, user, userId);

/** Of the change with that number. */
async function takeBackId(userId: UserId, index: number): Promise<string> {
  const ids = [];
  for await (const recorded of store.readStream(userStream(userId))) {
    const event = decode(userEvents, recorded);
    if (event.type === "UserEmailChanged") ids.push(event.data.former?.takeBackId ?? "");
  }
  return ids[index] ?? "";
}

/** Fails, as a killed process would, when it would append to such a stream. */
const dyingAt = (prefix: string): EventStore => ({
  ...store,
  append: (stream, ...rest) =>
    stream.startsWith(prefix) ? Promise.reject(new Error("killed")) : store.append(stream, ...rest),
});

describe("changing an alias", () => {
  it("takes the new one and frees the old one", async () => {
    const anna = await registered("anna");
    await rename(anna, "annette");
    expect(await stateOf(anna)).to.include({ alias: "annette" });
    await registered("anna");
    await expect(registered("Annette")).to.be.rejected.and.eventually.include({
      code: "alias.taken",
    });
  });

  it("is refused when it is taken, and changes nothing then", async () => {
    const boris = await registered("boris");
    await registered("bodo");
    await expect(rename(boris, "BODO")).to.be.rejected.and.eventually.include({
      kind: "unprocessable",
      code: "alias.taken",
    });
    expect(await stateOf(boris)).to.include({ alias: "boris" });
  });

  it("keeps the name when only its case changes", async () => {
    const clara = await registered("clara");
    await rename(clara, "Clara");
    expect(await stateOf(clara)).to.include({ alias: "Clara" });
    await expect(registered("clara")).to.be.rejected.and.eventually.include({
      code: "alias.taken",
    });
  });

  it("can be gone back on", async () => {
    const dora = await registered("dora");
    await rename(dora, "dorothea");
    await rename(dora, "dora");
    await registered("dorothea");
    await expect(registered("dora")).to.be.rejected.and.eventually.include({ code: "alias.taken" });
  });

  it("leaves nothing taken for long when it dies before or after its event", async () => {
    const emil = await registered("emil");
    await expect(rename(emil, "emilio", { store: dyingAt("user-") })).to.be.rejectedWith("killed");
    await rename(emil, "emile");
    nowMs += 61_000;
    await registered("emilio");
    await registered("emil");
    await expect(registered("emile")).to.be.rejected.and.eventually.include({
      code: "alias.taken",
    });
  });

  it("does not give away the name of a user who is only idle", async () => {
    await registered("fritz");
    nowMs += 61_000;
    await expect(registered("fritz")).to.be.rejected.and.eventually.include({
      code: "alias.taken",
    });
  });

  it("lets one of several racing users have it", async () => {
    const racing = await Promise.all(["greta", "gerda", "gisa"].map((alias) => registered(alias)));
    const outcomes = await Promise.allSettled(racing.map((userId) => rename(userId, "gina")));
    expect(outcomes.filter(({ status }) => status === "fulfilled")).to.have.length(1);
  });
});

describe("changing an e-mail", () => {
  const dayMs = 24 * 60 * 60_000;
  const taken = { code: "email.taken" };

  it("takes the new one, in any case, and frees the old one when an administrator changes it", async () => {
    const hanna = await registered("hanna", "hanna");
    const root = await registered("root");
    await readdress(hanna, "Hanna@Example.net", root);
    const ida = await registered("ida");
    const other = readdress(ida, "hanna@example.NET");
    await expect(other).to.be.rejected.and.eventually.include(taken);
    await readdress(ida, "hanna@example.org");
  });

  it("keeps the old one for 7 days when the person changes it", async () => {
    const jana = await registered("jana", "jana");
    await readdress(jana, "jana@example.net");
    const karl = await registered("karl");
    nowMs += 7 * dayMs - 1_000;
    const early = readdress(karl, "jana@example.org");
    await expect(early).to.be.rejected.and.eventually.include(taken);
    nowMs += 1_000;
    await readdress(karl, "jana@example.org");
  });

  it("frees the later ones when a link takes the first one back", async () => {
    const lena = await registered("lena", "lena");
    await readdress(lena, "thief@example.net");
    await readdress(lena, "thief@example.com");
    const id = await takeBackId(lena, 0);
    await takeBackEmail(
      deps,
      linkToken(vault, "EMAIL_TAKE_BACK", lena, id),
      metadataFor(randomUUID()),
    );
    expect(await stateOf(lena)).to.deep.include({
      formers: [],
      confirmed: true,
      emailProved: true,
    });
    const mona = await registered("mona");
    await readdress(mona, "thief@example.net");
    await readdress(mona, "thief@example.com");
    const other = readdress(mona, "lena@example.org");
    await expect(other).to.be.rejected.and.eventually.include(taken);
  });
});

describe("changing a password", () => {
  const renew = (userId: UserId, password: string, unlike: number) =>
    changeUserPassword(deps, change(userId), { password, unlike });

  it("is refused with one of the last, and not with an older one", async () => {
    const jan = await registered("jan");
    await renew(jan, "second password", 2);
    const archived = { kind: "unprocessable", code: "password.archived" };
    for (const password of ["first password", "second password"]) {
      await expect(renew(jan, password, 2)).to.be.rejected.and.eventually.include(archived);
    }
    await renew(jan, "third password", 2);
    await renew(jan, "first password", 2);
    await renew(jan, "first password", 0);
  });

  it("is refused for an unknown user", async () => {
    const nobody = UserId.parse(randomUUID());
    await expect(renew(nobody, "any password", 0)).to.be.rejected.and.eventually.include({
      code: "user.not_found",
    });
  });
});
