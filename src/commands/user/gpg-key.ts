import type { GpgKeyId, UserId } from "../../events/core/ids.ts";
import type { Sealed } from "../../events/core/sealed.ts";
import { gpgKeyEvents, gpgKeyStream } from "../../events/user/gpg-key.ts";
import { unreachable } from "../../platform/invariant.ts";
import type { Slice } from "../core/decider.ts";
import {
  type DeleteKey,
  deletionOf,
  emptyKeyRing,
  type KeyRing,
  mustTakeKey,
  withKey,
  withoutKey,
} from "./key-ring.ts";

/** More than a person needs; the check of a signature tries all of them. */
export const gpgKeysMax = 20;

export type GpgKeyCommand =
  | Readonly<{
      type: "AddGpgKey";
      keyId: GpgKeyId;
      userId: UserId;
      title: Sealed;
      publicKey: Sealed;
      fingerprint: string;
      fingerprints: readonly string[];
      by: UserId;
      at: string;
    }>
  | DeleteKey<GpgKeyId>;

export const gpgKey: Slice<KeyRing, GpgKeyCommand, typeof gpgKeyEvents> = {
  events: gpgKeyEvents,
  stream: gpgKeyStream,
  initialState: emptyKeyRing,

  decide(ring, command) {
    switch (command.type) {
      case "AddGpgKey": {
        mustTakeKey(ring, command, { kind: "gpg_key", keysMax: gpgKeysMax });
        const { type: _, by: addedById, at: addedAt, ...rest } = command;
        const fingerprints = [...rest.fingerprints];
        return [{ type: "GpgKeyAdded", data: { ...rest, fingerprints, addedById, addedAt } }];
      }
      case "DeleteKey": {
        const data = deletionOf(ring, command);
        return data === undefined ? [] : [{ type: "GpgKeyDeleted", data }];
      }
      default:
        return unreachable(command);
    }
  },

  evolve(ring, event) {
    switch (event.type) {
      case "GpgKeyAdded":
        return withKey(ring, event.data);
      case "GpgKeyDeleted":
        return withoutKey(ring, event.data.keyId);
      default:
        return unreachable(event);
    }
  },
};
