import type { LoginConnectionId, UserId } from "../../events/core/ids.ts";
import type { Sealed } from "../../events/core/sealed.ts";
import {
  externalIdentityEvents,
  externalIdentityStream,
  type LinkedBy,
} from "../../events/login/external-identity.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Slice } from "../core/decider.ts";

export type ExternalIdentityCommand = Readonly<{
  type: "LinkExternalIdentity";
  connectionId: LoginConnectionId;
  subjectDigest: string;
  subject: Sealed;
  userId: UserId;
  linkedBy: LinkedBy;
  /** An account found to be gone, or never to have come into being: its identity is free. */
  goneUserId?: UserId | undefined;
  at: string;
}>;

export type ExternalIdentityState = Readonly<{ userId: UserId | undefined }>;

export const externalIdentity: Slice<
  ExternalIdentityState,
  ExternalIdentityCommand,
  typeof externalIdentityEvents
> = {
  events: externalIdentityEvents,
  stream: externalIdentityStream,
  initialState: { userId: undefined },

  decide({ userId: holder }, command) {
    const { type: _, at: linkedAt, goneUserId, ...data } = command;
    if (holder === data.userId) return [];
    if (holder !== undefined && holder !== goneUserId) throw taken();
    return [{ type: "ExternalIdentityLinked", data: { ...data, linkedAt } }];
  },

  evolve: (_state, event) => ({ userId: event.data.userId }),
};

function taken(): Refusal {
  const message = "This identity belongs to another account.";
  return new Refusal("conflict", "external_identity.taken", message);
}
