import type { GpgKeyId, UserId } from "../../events/core/ids.ts";
import type { Sealed } from "../../events/core/sealed.ts";
import { type GpgKeyEvent, gpgKeyEvents, gpgKeyStream } from "../../events/user/gpg-key.ts";
import { unreachable } from "../../platform/invariant.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Decider, Slice } from "../core/decider.ts";

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
  | Readonly<{ type: "DeleteGpgKey"; keyId: GpgKeyId; by: UserId; at: string }>;

/** Fingerprint by key id, of the keys not deleted. */
export type GpgKeyState = Readonly<{ fingerprints: ReadonlyMap<string, string> }>;

const decider: Decider<GpgKeyState, GpgKeyCommand, GpgKeyEvent> = {
  initialState: { fingerprints: new Map() },

  decide({ fingerprints: held }, command) {
    switch (command.type) {
      case "AddGpgKey": {
        if ([...held.values()].includes(command.fingerprint)) throw keyTaken();
        if (held.size >= gpgKeysMax) throw tooMany();
        const { type: _, by: addedById, at: addedAt, ...rest } = command;
        const fingerprints = [...rest.fingerprints];
        return [{ type: "GpgKeyAdded", data: { ...rest, fingerprints, addedById, addedAt } }];
      }
      case "DeleteGpgKey": {
        const { keyId, by: deletedById, at: deletedAt } = command;
        const fingerprint = held.get(keyId);
        if (fingerprint === undefined) return [];
        return [{ type: "GpgKeyDeleted", data: { keyId, fingerprint, deletedById, deletedAt } }];
      }
      default:
        return unreachable(command);
    }
  },

  evolve({ fingerprints }, event) {
    const left = new Map(fingerprints);
    switch (event.type) {
      case "GpgKeyAdded":
        return { fingerprints: left.set(event.data.keyId, event.data.fingerprint) };
      case "GpgKeyDeleted":
        left.delete(event.data.keyId);
        return { fingerprints: left };
      default:
        return unreachable(event);
    }
  },
};

export const gpgKeyTaken = {
  field: "publicKey",
  code: "gpg_key.taken",
  message: "This key is already in use.",
} as const;

function keyTaken(): Refusal {
  const { code, message } = gpgKeyTaken;
  return new Refusal("unprocessable", code, message, { errors: [gpgKeyTaken] });
}

function tooMany(): Refusal {
  const message = `A user has at most ${gpgKeysMax} keys.`;
  return new Refusal("unprocessable", "gpg_key.too_many", message);
}

export const gpgKey: Slice<GpgKeyState, GpgKeyCommand, typeof gpgKeyEvents> = {
  events: gpgKeyEvents,
  stream: gpgKeyStream,
  decider,
};
