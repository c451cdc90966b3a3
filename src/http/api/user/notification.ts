import { z } from "zod";

import { notificationPreference } from "../../../commands/user/notification-preference.ts";
import type { UserId } from "../../../events/core/ids.ts";
import {
  notificationPreferenceProjection,
  wantsMail,
} from "../../../projections/user/notification-preference.ts";
import type { Deps } from "../../core/deps.ts";
import type { RequestContext } from "../../core/request.ts";
import { type Route, route } from "../../core/route.ts";
import { bool } from "../../core/schema.ts";

const path = "/user/settings/notification";
const common = { tag: "Current user settings", access: "user" } as const;

const NotificationSettings = z
  .object({
    mail: bool().meta({ description: "Mail about assignments and mentions is sent." }),
  })
  .meta({ id: "NotificationSettings" });

const getNotification = route({
  ...common,
  method: "get",
  path,
  operationId: "getOwnNotificationSettings",
  summary: "Get which notifications are sent",
  scope: "USER_READ",
  asOf: { readModels: [notificationPreferenceProjection], account: "caller" },
  reply: NotificationSettings,
  handle: async ({ request }, { db }) => ({ mail: await wantsMail(db, request.userId) }),
});

const putNotification = route({
  ...common,
  method: "put",
  path,
  operationId: "putOwnNotificationSettings",
  summary: "Set which notifications are sent",
  scope: "USER_WRITE",
  body: NotificationSettings,
  reply: NotificationSettings,
  async handle({ body: { mail }, request }, deps) {
    await setNotificationMail(request.userId, mail, request, deps);
    return { mail };
  },
});

export const notificationRoutes: readonly Route[] = [getNotification, putNotification];

/** Stops or resumes mail about assignments and mentions; again, it changes nothing. */
export async function setNotificationMail(
  userId: UserId,
  isWanted: boolean,
  request: Pick<RequestContext, "execute">,
  { now }: Pick<Deps, "now">,
): Promise<void> {
  const type = isWanted ? "ResumeNotificationMail" : "StopNotificationMail";
  const command = { type, userId, at: now().toISOString() } as const;
  await request.execute(notificationPreference, userId, command);
}
