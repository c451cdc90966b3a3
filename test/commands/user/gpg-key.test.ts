import { gpgKey, gpgKeysMax } from "../../../src/commands/user/gpg-key.ts";
import type { EventOf } from "../../../src/events/core/event.ts";
import { GpgKeyId, UserId } from "../../../src/events/core/ids.ts";
import { Sealed } from "../../../src/events/core/sealed.ts";
import type { gpgKeyEvents } from "../../../src/events/user/gpg-key.ts";
import { deterministicId } from "../../../src/platform/deterministic-id.ts";
import { specify } from "../../support/app/decider.ts";
import { at } from "../../support/app/history.ts";

type GpgKeyEvent = EventOf<typeof gpgKeyEvents>;

const given = specify(gpgKey);
const userId = UserId.parse("0b9f2d3a-6f0e-4c35-8a9e-0d1f2a3b4c5d");
const admin = UserId.parse("9a8b7c6d-5e4f-4a3b-8c2d-1e0f9a8b7c6d");
const title = Sealed.parse(`sealed.user-${userId}.AAAA`);
const idOf = (n: number) => GpgKeyId.parse(deterministicId("key", n));

const fingerprintOf = (n: number) => String(n).padStart(40, "0");

const facts = (n: number) =>
  ({
    keyId: idOf(n),
    userId,
    title,
    publicKey: title,
    fingerprint: fingerprintOf(n),
    fingerprints: [fingerprintOf(n)],
  }) satisfies Partial<Record<string, unknown>>;
const add = (n: number) => ({ type: "AddGpgKey", ...facts(n), by: admin, at }) as const;
const added = (n: number): GpgKeyEvent => ({
  type: "GpgKeyAdded",
  data: { ...facts(n), addedById: admin, addedAt: at },
});
const deleted = (n: number): GpgKeyEvent => ({
  type: "GpgKeyDeleted",
  data: { keyId: idOf(n), fingerprint: fingerprintOf(n), deletedById: userId, deletedAt: at },
});

describe("adding a GPG key", () => {
  it("records it, and by whom", () => {
    given(added(1)).when(add(2)).gives(added(2));
  });

  it("is refused while the same key is there, under whatever id", () => {
    given(added(1))
      .when({ ...add(1), keyId: idOf(2) })
      .refuses("gpg_key.taken");
    given(added(1), deleted(1)).when(add(1)).gives(added(1));
  });

  it("is refused beyond a number nobody needs", () => {
    given(...Array.from({ length: gpgKeysMax }, (_, n) => added(n)))
      .when(add(gpgKeysMax))
      .refuses("gpg_key.too_many");
  });
});

describe("deleting a GPG key", () => {
  const remove = { type: "DeleteKey", keyId: idOf(1), by: userId, at } as const;

  it("happens once, and to keys of this user only", () => {
    given(added(1)).when(remove).gives(deleted(1));
    given(added(1), deleted(1)).when(remove).givesNothing();
    given(added(2)).when(remove).givesNothing();
  });
});
