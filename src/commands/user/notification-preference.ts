import { UserId } from "../../events/core/ids.ts";
import {
  notificationPreferenceEvents,
  notificationPreferenceStream,
} from "../../events/user/notification-preference.ts";
import { unreachable } from "../../platform/invariant.ts";
import { isSame } from "../../platform/key/signed.ts";
import type { Vault } from "../../platform/key/vault.ts";
import type { Slice } from "../core/decider.ts";

export type NotificationPreferenceCommand = Readonly<{
  type: "StopNotificationMail" | "ResumeNotificationMail";
  userId: UserId;
  at: string;
}>;

type State = Readonly<{ isStopped: boolean }>;

export const notificationPreference: Slice<
  State,
  NotificationPreferenceCommand,
  typeof notificationPreferenceEvents
> = {
  events: notificationPreferenceEvents,
  stream: notificationPreferenceStream,
  initialState: { isStopped: false },

  decide({ isStopped }, { type, userId, at }) {
    switch (type) {
      case "StopNotificationMail":
        if (isStopped) return [];
        return [{ type: "NotificationMailStopped", data: { userId, stoppedAt: at } }];
      case "ResumeNotificationMail":
        if (!isStopped) return [];
        return [{ type: "NotificationMailResumed", data: { userId, resumedAt: at } }];
      default:
        return unreachable(type);
    }
  },

  evolve(_state, event) {
    return { isStopped: event.type === "NotificationMailStopped" };
  },
};

/** What the link in a notification holds: it stops such mails to one person and opens nothing else. */
export function unsubscribeToken(vault: Pick<Vault, "digest">, userId: UserId): string {
  return `${userId}.${vault.digest("unsubscribe", userId)}`;
}

/** Whose token it is; undefined for one that was not made here. */
export function readUnsubscribeToken(
  vault: Pick<Vault, "digest">,
  token: string,
): UserId | undefined {
  const userId = UserId.safeParse(token.slice(0, token.indexOf(".")));
  if (!userId.success) return undefined;
  return isSame(token, unsubscribeToken(vault, userId.data)) ? userId.data : undefined;
}
