import type { Knex } from "knex";

import { notificationPreferenceEvents } from "../../events/user/notification-preference.ts";
import { defineProjection } from "../core/projection.ts";

type StoppedRow = Readonly<{ user_id: string; stopped_at: Date }>;

export const notificationPreferenceProjection = defineProjection({
  name: "notification_preference",
  version: 1,
  tables: ["notification_mail_stopped"],
  async create(tx) {
    await tx.schema.createTable("notification_mail_stopped", (table) => {
      table.uuid("user_id").primary();
      table.timestamp("stopped_at").notNullable();
    });
  },
  events: notificationPreferenceEvents,
  handlers: {
    NotificationMailStopped: async (tx, { data }) => {
      const row = { user_id: data.userId, stopped_at: new Date(data.stoppedAt) };
      await tx<StoppedRow>("notification_mail_stopped").insert(row).onConflict("user_id").merge();
    },
    NotificationMailResumed: async (tx, { data }) => {
      await tx<StoppedRow>("notification_mail_stopped").where("user_id", data.userId).delete();
    },
  },
});

/** Whether a person receives mail about assignments and mentions. */
export async function wantsMail(db: Knex, userId: string): Promise<boolean> {
  const row = await db<StoppedRow>("notification_mail_stopped").where("user_id", userId).first();
  return row === undefined;
}
