import type { Knex } from "knex";

import { notificationPreferenceEvents } from "../../events/user/notification-preference.ts";
import { put, remove } from "../core/change.ts";
import { defineReadModel } from "../core/read-model.ts";
import { defineTable, type RowOf } from "../core/table.ts";

const stopped = defineTable({
  name: "notification_mail_stopped",
  columns: { user_id: "uuid", stopped_at: "timestamptz" },
  key: ["user_id"],
});

type StoppedRow = RowOf<typeof stopped>;

export const notificationPreferenceProjection = defineReadModel({
  name: "notification_preference",
  version: 2,
  tables: [stopped],
  events: notificationPreferenceEvents,
  effects: {
    NotificationMailStopped: ({ data: { userId: user_id, stoppedAt } }) =>
      put(stopped, { user_id, stopped_at: new Date(stoppedAt) }),
    NotificationMailResumed: ({ data: { userId: user_id } }) => remove(stopped, { user_id }),
  },
});

/** Whether a person receives mail about assignments and mentions. */
export async function wantsMail(db: Knex, userId: string): Promise<boolean> {
  const row = await db<StoppedRow>("notification_mail_stopped").where("user_id", userId).first();
  return row === undefined;
}
