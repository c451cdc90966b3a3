import { randomUUID } from "node:crypto";
import { expect } from "chai";

import { currentState } from "../../../src/commands/handle.ts";
import {
  changeUserAlias,
  changeUserEmail,
  changeUserPassword,
} from "../../../src/commands/process/change-user.ts";
import { registerUser } from "../../../src/commands/process/register-user.ts";
import { user } from "../../../src/commands/user.ts";
import { Alias, UserId } from "../../../src/events/ids.ts";
import type { EventStore } from "../../../src/platform/event-store.ts";
import { openVault } from "../../../src/platform/vault.ts";
import { testDatabase } from "../../support/database.ts";
import { testEventStore } from "../../support/event-store.ts";
import { metadataFor } from "../../support/history.ts";

const { db } = await testDatabase();
const { store } = await testEventStore();
const vault = openVault(db, "a secret key of the test suite");

let nowMs = Date.parse("2026-01-02T03:04:05.678Z");
const deps = { store, vault, now: () => new Date(nowMs).toISOString() };

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
const readdress = (userId: UserId, email: string) =>
  changeUserEmail(deps, change(userId), { email, confirmed: true });
const stateOf = (userId: UserId) => currentState(store, user, userId);

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

  it("is refused when somebody has it, and changes nothing then", async () => {
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
  it("takes the new one, in any case, and frees the old one", async () => {
    const hanna = await registered("hanna", "hanna");
    await readdress(hanna, "Hanna@Example.net");
    const ida = await registered("ida");
    await expect(readdress(ida, "hanna@example.NET")).to.be.rejected.and.eventually.include({
      code: "email.taken",
    });
    await readdress(ida, "hanna@example.org");
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

  it("is refused for somebody who does not exist", async () => {
    const nobody = UserId.parse(randomUUID());
    await expect(renew(nobody, "any password", 0)).to.be.rejected.and.eventually.include({
      code: "user.not_found",
    });
  });
});
