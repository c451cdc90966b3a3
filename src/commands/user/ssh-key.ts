import type { SshKeyId, UserId } from "../../events/core/ids.ts";
import type { Sealed } from "../../events/core/sealed.ts";
import { sshKeyEvents, sshKeyStream } from "../../events/user/ssh-key.ts";
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
  | DeleteKey<SshKeyId>;

export const sshKey: Slice<KeyRing, SshKeyCommand, typeof sshKeyEvents> = {
  events: sshKeyEvents,
  stream: sshKeyStream,
  initialState: emptyKeyRing,

  decide(ring, command) {
    switch (command.type) {
      case "AddSshKey": {
        mustTakeKey(ring, command, { kind: "ssh_key", keysMax: sshKeysMax });
        const { type: _, by: addedById, at: addedAt, ...rest } = command;
        return [{ type: "SshKeyAdded", data: { ...rest, addedById, addedAt } }];
      }
      case "DeleteKey": {
        const data = deletionOf(ring, command);
        return data === undefined ? [] : [{ type: "SshKeyDeleted", data }];
      }
      default:
        return unreachable(command);
    }
  },

  evolve(ring, event) {
    switch (event.type) {
      case "SshKeyAdded":
        return withKey(ring, event.data);
      case "SshKeyDeleted":
        return withoutKey(ring, event.data.keyId);
      default:
        return unreachable(event);
    }
  },
};
