import { randomUUID } from "node:crypto";
import { expect } from "chai";

import type { AnyEvent } from "../../../src/events/core/event.ts";
import { gpgKeyStream } from "../../../src/events/user/gpg-key.ts";
import { userStream } from "../../../src/events/user/user.ts";
import {
  findGpgKey,
  gpgKeyProjection,
  gpgKeysOf,
  listGpgKeys,
} from "../../../src/projections/user/gpg-key.ts";
import { at, history } from "../../support/app/history.ts";
import { context, project, reset } from "../../support/app/projection.ts";
import { testDatabase } from "../../support/store/database.ts";

const { db } = await testDatabase();
const anna = randomUUID();
const keyId = randomUUID();
const sealed = `sealed.user-${anna}.AAAA`;
const [fingerprint, subkey] = ["A".repeat(40), "B".repeat(40)];

const added = {
  type: "GpgKeyAdded",
  data: {
    keyId,
    userId: anna,
    title: sealed,
    publicKey: sealed,
    fingerprint,
    fingerprints: [fingerprint, subkey],
    addedById: anna,
    addedAt: at,
  },
};
const deleted = {
  type: "GpgKeyDeleted",
  data: { keyId, fingerprint, deletedById: anna, deletedAt: at },
};
const forgotten = { type: "UserForgotten", data: { forgottenAt: at } };

describe("the GPG key read model", () => {
  beforeEach(() => reset(db, gpgKeyProjection));
  const apply = (...events: readonly (readonly [string, AnyEvent])[]) =>
    project(db, gpgKeyProjection, history(...events), context);

  it("lists the keys of a user and finds no other user's", async () => {
    await apply([gpgKeyStream(anna), added]);
    const { rows, total } = await listGpgKeys(db, { userId: anna, limit: 10, offset: 0 });
    expect(total).to.equal(1);
    expect(rows[0]).to.deep.include({
      id: keyId,
      fingerprint,
      fingerprints: [fingerprint, subkey],
    });
    expect(await findGpgKey(db, anna, keyId)).to.deep.equal(rows[0]);
    expect(await gpgKeysOf(db, anna)).to.deep.equal(rows);
    expect(await findGpgKey(db, randomUUID(), keyId)).to.equal(undefined);
  });

  it("loses a key that was deleted, and those of a person who was forgotten", async () => {
    await apply([gpgKeyStream(anna), added], [gpgKeyStream(anna), deleted]);
    expect(await gpgKeysOf(db, anna)).to.deep.equal([]);
    await reset(db, gpgKeyProjection);
    await apply([gpgKeyStream(anna), added], [userStream(anna), forgotten]);
    expect(await gpgKeysOf(db, anna)).to.deep.equal([]);
  });
});
