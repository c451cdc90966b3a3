import { randomUUID } from "node:crypto";
import { expect } from "chai";

import type { AnyEvent } from "../../../src/events/core/event.ts";
import { sshKeyStream } from "../../../src/events/user/ssh-key.ts";
import { userStream } from "../../../src/events/user/user.ts";
import {
  findSshKey,
  findSshLogin,
  listSshKeys,
  sshKeyProjection,
} from "../../../src/projections/user/ssh-key.ts";
import { userProjection } from "../../../src/projections/user/user.ts";
import { at, history } from "../../support/app/history.ts";
import { context, project, reset } from "../../support/app/projection.ts";
import { testDatabase } from "../../support/store/database.ts";

const { db } = await testDatabase();
const anna = randomUUID();
const keyId = randomUUID();
const title = `sealed.user-${anna}.AAAA`;
const fingerprint = "SHA256:abc";

const registered = {
  type: "UserRegistered",
  data: {
    userId: anna,
    alias: "anna",
    email: title,
    emailDigest: "d",
    passwordHash: null,
    admin: false,
    confirmed: true,
    registeredAt: at,
  },
};
const added = (expiresAt: string | null = null) => ({
  type: "SshKeyAdded",
  data: {
    keyId,
    userId: anna,
    title,
    publicKey: "ssh-ed25519 AAAA",
    fingerprint,
    expiresAt,
    addedById: anna,
    addedAt: at,
  },
});
const deleted = {
  type: "SshKeyDeleted",
  data: { keyId, fingerprint, deletedById: anna, deletedAt: at },
};
const banned = { type: "UserBanned", data: { reason: null, bannedById: anna, bannedAt: at } };
const unbanned = { type: "UserUnbanned", data: { unbannedById: anna, unbannedAt: at } };
const forgotten = { type: "UserForgotten", data: { forgottenAt: at } };

describe("the SSH key read model", () => {
  const apply = async (...events: readonly AnyEvent[]) => {
    const log = history(
      ...[registered, ...events].map((event): [string, AnyEvent] => [
        event.type.startsWith("SshKey") ? sshKeyStream(anna) : userStream(anna),
        event,
      ]),
    );
    for (const projection of [userProjection, sshKeyProjection]) {
      await reset(db, projection);
      await project(db, projection, log, context);
    }
  };
  const login = (now = at) => findSshLogin(db, fingerprint, new Date(now));

  it("lists the keys of a user and finds no other user's", async () => {
    await apply(added());
    const { rows, total } = await listSshKeys(db, { userId: anna, limit: 10, offset: 0 });
    expect(rows.map((row) => [row.id, row.title, total])).to.deep.equal([[keyId, title, 1]]);
    expect(await findSshKey(db, anna, keyId)).to.deep.equal(rows[0]);
    expect(await findSshKey(db, randomUUID(), keyId)).to.equal(undefined);
  });

  it("lets its user in until it is deleted", async () => {
    await apply(added());
    expect(await login()).to.include({ user_id: anna, alias: "anna", key_id: keyId });
    await apply(added(), deleted);
    expect(await login()).to.equal(undefined);
  });

  it("lets nobody in once it expired", async () => {
    await apply(added("2026-06-01T00:00:00.000Z"));
    expect(await login("2026-06-01T00:00:00.000Z")).to.include({ user_id: anna });
    expect(await login("2026-06-01T00:00:00.001Z")).to.equal(undefined);
  });

  it("lets in nobody who is blocked, and again after it was lifted", async () => {
    await apply(added(), banned);
    expect(await login()).to.equal(undefined);
    await apply(added(), banned, unbanned);
    expect(await login()).to.include({ user_id: anna });
  });

  it("is removed with a forgotten user", async () => {
    await apply(added(), forgotten);
    expect(await findSshKey(db, anna, keyId)).to.equal(undefined);
    expect(await login()).to.equal(undefined);
  });
});
