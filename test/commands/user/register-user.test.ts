import { randomUUID } from "node:crypto";
import { expect } from "chai";

import { ensureAdministrator } from "../../../src/commands/user/ensure-administrator.ts";
import { registerUser } from "../../../src/commands/user/register-user.ts";
import { decode } from "../../../src/events/core/decode.ts";
import { Alias, UserId } from "../../../src/events/core/ids.ts";
import { aliasStream } from "../../../src/events/core/reservation.ts";
import { userEvents, userStream } from "../../../src/events/user/user.ts";
import type { EventStore } from "../../../src/platform/event-store/event-store.ts";
import { verifyPassword } from "../../../src/platform/identity/password.ts";
import { openVault } from "../../../src/platform/key/vault.ts";
import { metadataFor } from "../../support/app/history.ts";
import { cheapHash } from "../../support/app/password.ts";
import { testDatabase } from "../../support/store/database.ts";
import { testEventStore } from "../../support/store/event-store.ts";

const { db } = await testDatabase();
const { store } = await testEventStore();
const vault = openVault(db, "a secret key of the test suite");

describe("registering a user", () => {
  let nowMs = Date.parse("2026-01-02T03:04:05.678Z");
  const now = () => new Date(nowMs).toISOString();
  const deps = () => ({ store, vault, now, hash: cheapHash });

  const fresh = (alias: string, email = `${alias}@example.org`) => ({
    userId: UserId.parse(randomUUID()),
    alias: Alias.parse(alias),
    email,
    password: "a long password",
    admin: false,
    confirmed: true,
  });
  const register = (newUser: ReturnType<typeof fresh>) =>
    registerUser(deps(), newUser, metadataFor(randomUUID()));

  async function registration(userId: string) {
    for await (const recorded of store.readStream(userStream(userId))) {
      const event = decode(userEvents, recorded);
      if (event.type === "UserRegistered") return event.data;
    }
    return undefined;
  }

  it("keeps e-mail and password out of the log's clear text", async () => {
    const newUser = fresh("olga", "Olga@Example.org ");
    await registerUser({ store, vault, now }, newUser, metadataFor(randomUUID()));
    const data = await registration(newUser.userId);
    expect(JSON.stringify(data)).not.to.match(/example|long password|scrypt/i);
    expect(await vault.open(data!.email)).to.equal("Olga@Example.org");
    const hash = await vault.open(data!.passwordHash!);
    expect(await verifyPassword("a long password", hash)).to.equal(true);
  });

  it("refuses an alias that differs from a taken one by case only", async () => {
    await register(fresh("Peter"));
    await expect(
      register(fresh("pETER", "other@example.org")),
    ).to.be.rejected.and.eventually.include({ kind: "unprocessable", code: "alias.taken" });
  });

  it("frees the alias again when the e-mail is taken", async () => {
    await register(fresh("quinn"));
    await expect(
      register(fresh("quinn-2", "QUINN@example.org")),
    ).to.be.rejected.and.eventually.include({ code: "email.taken" });
    await register(fresh("quinn-2", "quinn2@example.org"));
  });

  it("lets one of several racing requests have the alias", async () => {
    const outcomes = await Promise.allSettled(
      [1, 2, 3, 4].map((n) => register(fresh("rosa", `rosa${n}@example.org`))),
    );
    const won = outcomes.filter(({ status }) => status === "fulfilled");
    expect(won).to.have.length(1);
  });

  it("finishes what a request that died half-way began, when it is repeated", async () => {
    const newUser = fresh("sara");
    const metadata = metadataFor(randomUUID());
    const dying: EventStore = {
      ...store,
      append: (stream, ...rest) =>
        stream.startsWith("user-")
          ? Promise.reject(new Error("killed"))
          : store.append(stream, ...rest),
    };
    const died = registerUser({ ...deps(), store: dying }, newUser, metadata);
    await expect(died).to.be.rejectedWith("killed");
    await registerUser(deps(), newUser, metadata);
    expect((await registration(newUser.userId))?.alias).to.equal("sara");
  });

  it("gives a name left behind to the next one after a minute, not before", async () => {
    const ghost = fresh("tess", "ghost@example.org");
    const dying: EventStore = {
      ...store,
      append: (stream, ...rest) =>
        stream === aliasStream("tess")
          ? store.append(stream, ...rest)
          : Promise.reject(new Error("killed")),
    };
    const died = registerUser({ ...deps(), store: dying }, ghost, metadataFor(randomUUID()));
    await expect(died).to.be.rejectedWith("killed");

    const next = fresh("tess", "tess@example.org");
    nowMs += 59_000;
    await expect(register(next)).to.be.rejected.and.eventually.include({ code: "alias.taken" });
    nowMs += 2_000;
    await register(next);
    expect((await registration(next.userId))?.alias).to.equal("tess");
  });
});

describe("the first administrator", () => {
  it("is made once, however often and concurrently the service starts", async () => {
    const deps = { store, vault, now: () => new Date().toISOString() };
    const first = { alias: "admin", email: "admin@localhost", password: "first password" };

    const [one, two] = await Promise.all([
      ensureAdministrator(deps, first),
      ensureAdministrator(deps, first),
    ]);
    expect([one.created, two.created]).to.include(true);
    const again = { ...first, password: "another password" };
    expect(await ensureAdministrator(deps, again)).to.deep.equal({ created: false });

    const registered: unknown[] = [];
    for await (const { type, data } of store.readAll()) {
      if (type === "UserRegistered" && data["admin"] === true) registered.push(data["alias"]);
    }
    expect(registered).to.deep.equal(["admin"]);
  });
});
