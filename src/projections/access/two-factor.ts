import type { Knex } from "knex";
import { twoFactorEvents } from "../../events/access/two-factor.ts";
import type { Sealed } from "../../events/core/sealed.ts";
import { idInStream } from "../../events/core/stream.ts";
import { userEvents } from "../../events/user/user.ts";
import { defineProjection, type Tx } from "../core/projection.ts";

export type TwoFactorRow = Readonly<{
  user_id: string;
  /** Opened only to check a code. */
  secret: Sealed;
  /** Logins require a code. */
  is_enabled: boolean;
  /** Digests of those not used. */
  recovery_digests: readonly string[];
}>;

const { UserForgotten } = userEvents;

export const twoFactorProjection = defineProjection({
  name: "two_factor",
  version: 1,
  tables: ["two_factor"],
  async create(tx) {
    await tx.schema.createTable("two_factor", (table) => {
      table.uuid("user_id").primary();
      table.text("secret").notNullable();
      table.boolean("is_enabled").notNullable();
      table.specificType("recovery_digests", "text[]").notNullable();
    });
  },
  events: { ...twoFactorEvents, UserForgotten },
  handlers: {
    TwoFactorPrepared: async (tx, { data }) => {
      const row = {
        user_id: data.userId,
        secret: data.secret,
        is_enabled: false,
        recovery_digests: [],
      };
      await tx<TwoFactorRow>("two_factor").insert(row).onConflict("user_id").merge();
    },
    TwoFactorEnabled: (tx, { stream, data }) =>
      change(tx, stream, { is_enabled: true, recovery_digests: data.recoveryDigests }),
    RecoveryCodesRenewed: (tx, { stream, data }) =>
      change(tx, stream, { recovery_digests: data.recoveryDigests }),
    RecoveryCodeUsed: async (tx, { stream, data }) => {
      await tx("two_factor")
        .where("user_id", idInStream(stream))
        .update({
          recovery_digests: tx.raw("array_remove(recovery_digests, ?)", [data.recoveryDigest]),
        });
    },
    TwoFactorDisabled: (tx, { stream }) => remove(tx, stream),
    UserForgotten: (tx, { stream }) => remove(tx, stream),
  },
});

async function change(tx: Tx, stream: string, columns: Partial<TwoFactorRow>): Promise<void> {
  await tx<TwoFactorRow>("two_factor").where("user_id", idInStream(stream)).update(columns);
}

async function remove(tx: Tx, stream: string): Promise<void> {
  await tx("two_factor").where("user_id", idInStream(stream)).delete();
}

export function findTwoFactor(db: Knex, userId: string): Promise<TwoFactorRow | undefined> {
  return db<TwoFactorRow>("two_factor").where("user_id", userId).first();
}
