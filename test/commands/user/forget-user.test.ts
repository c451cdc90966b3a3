import { randomUUID } from "node:crypto";
import { expect } from "chai";

import { forgetUser } from "../../../src/commands/user/forget-user.ts";
import { registerUser } from "../../../src/commands/user/register-user.ts";
import { decode } from "../../../src/events/core/decode.ts";
import { Alias, UserId } from "../../../src/events/core/ids.ts";
import { userEvents, userStream } from "../../../src/events/user/user.ts";
import { openVault } from "../../../src/platform/key/vault.ts";
import { findUserById, userProjection } from "../../../src/projections/user/user.ts";
import { metadataFor } from "../../support/app/history.ts";
import { cheapHash } from "../../support/app/password.ts";
import { project, reset } from "../../support/app/projection.ts";
import { testDatabase } from "../../support/store/database.ts";
import { testEventStore } from "../../support/store/event-store.ts";

const { db } = await testDatabase();
const { store } = await testEventStore();
const vault = openVault(db, "a secret key of the test suite");
const deps = { store, vault, now: () => new Date().toISOString(), hash: cheapHash };

describe("forgetting a user", () => {
  const person = (alias: string, email: string) => ({
    userId: UserId.parse(randomUUID()),
    alias: Alias.parse(alias),
    email,
    password: "a long password",
    admin: false,
    confirmed: true,
  });
  const register = (newUser: ReturnType<typeof person>) =>
    registerUser(deps, newUser, metadataFor(randomUUID()));
  const forget = (userId: string) => forgetUser(deps, userId, metadataFor(randomUUID()));

  async function rebuilt(userId: string) {
    await reset(db, userProjection);
    const log = [];
    for await (const event of store.readStream(userStream(userId))) log.push(event);
    await project(db, userProjection, log, { open: vault.open });
    return findUserById(db, userId);
  }

  it("leaves nothing personal that can be read, in the log or in a rebuilt view", async () => {
    const anna = person("anna", "anna@example.org");
    await register(anna);
    expect((await rebuilt(anna.userId))?.email).to.equal("anna@example.org");

    await forget(anna.userId);
    for await (const recorded of store.readStream(userStream(anna.userId))) {
      const event = decode(userEvents, recorded);
      if (event.type !== "UserRegistered") continue;
      expect(await vault.open(event.data.email)).to.equal(null);
      expect(event.data.passwordHash && (await vault.open(event.data.passwordHash))).to.equal(null);
    }
    expect(await rebuilt(anna.userId)).to.include({ alias: "anna", email: null });
  });

  it("frees the e-mail, and keeps the alias reserved", async () => {
    const boris = person("boris", "boris@example.org");
    await register(boris);
    await forget(boris.userId);
    await expect(
      register(person("boris", "new@example.org")),
    ).to.be.rejected.and.eventually.include({
      code: "alias.taken",
    });
    await register(person("boris-2", "boris@example.org"));
  });

  it("may be repeated after dying half-way", async () => {
    const clara = person("clara", "clara@example.org");
    await register(clara);
    const dying = { ...vault, forget: () => Promise.reject(new Error("killed")) };
    const died = forgetUser({ ...deps, vault: dying }, clara.userId, metadataFor(randomUUID()));
    await expect(died).to.be.rejectedWith("killed");
    await forget(clara.userId);
    await forget(clara.userId);
    expect(await rebuilt(clara.userId)).to.include({ email: null });
  });

  it("is refused for an unknown user", async () => {
    await expect(forget(randomUUID())).to.be.rejected.and.eventually.include({
      code: "user.not_found",
    });
  });
});
