import type { SshKeyId, UserId } from "../../events/core/ids.ts";
import type { Sealed } from "../../events/core/sealed.ts";
import { type SshKeyEvent, sshKeyEvents, sshKeyStream } from "../../events/user/ssh-key.ts";
import { unreachable } from "../../platform/invariant.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Decider, Slice } from "../core/decider.ts";

/** More than a person needs; a list of them stays short. */
export const sshKeysMax = 100;

export type SshKeyCommand =
  | Readonly<{
      type: "AddSshKey";
      keyId: SshKeyId;
      userId: UserId;
      title: Sealed;
      publicKey: string;
      fingerprint: string;
      expiresAt: string | null;
      by: UserId;
      at: string;
    }>
  | Readonly<{ type: "DeleteSshKey"; keyId: SshKeyId; by: UserId; at: string }>;

/** Fingerprint by key id, of the keys not deleted. */
export type SshKeyState = Readonly<{ fingerprints: ReadonlyMap<string, string> }>;

const decider: Decider<SshKeyState, SshKeyCommand, SshKeyEvent> = {
  initialState: { fingerprints: new Map() },

  decide({ fingerprints }, command) {
    switch (command.type) {
      case "AddSshKey": {
        if ([...fingerprints.values()].includes(command.fingerprint)) throw keyTaken();
        if (fingerprints.size >= sshKeysMax) throw tooMany();
        const { type: _, by: addedById, at: addedAt, ...rest } = command;
        return [{ type: "SshKeyAdded", data: { ...rest, addedById, addedAt } }];
      }
      case "DeleteSshKey": {
        const { keyId, by: deletedById, at: deletedAt } = command;
        const fingerprint = fingerprints.get(keyId);
        if (fingerprint === undefined) return [];
        return [{ type: "SshKeyDeleted", data: { keyId, fingerprint, deletedById, deletedAt } }];
      }
      default:
        return unreachable(command);
    }
  },

  evolve({ fingerprints }, event) {
    const left = new Map(fingerprints);
    switch (event.type) {
      case "SshKeyAdded":
        return { fingerprints: left.set(event.data.keyId, event.data.fingerprint) };
      case "SshKeyDeleted":
        left.delete(event.data.keyId);
        return { fingerprints: left };
      default:
        return unreachable(event);
    }
  },
};

export const sshKeyTaken = {
  field: "publicKey",
  code: "ssh_key.taken",
  message: "This key is already in use.",
} as const;

function keyTaken(): Refusal {
  const { code, message } = sshKeyTaken;
  return new Refusal("unprocessable", code, message, { errors: [sshKeyTaken] });
}

function tooMany(): Refusal {
  const message = `A user has at most ${sshKeysMax} keys.`;
  return new Refusal("unprocessable", "ssh_key.too_many", message);
}

export const sshKey: Slice<SshKeyState, SshKeyCommand, typeof sshKeyEvents> = {
  events: sshKeyEvents,
  stream: sshKeyStream,
  decider,
};
