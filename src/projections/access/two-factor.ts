import type { Knex } from "knex";
import { twoFactorEvents } from "../../events/access/two-factor.ts";
import type { Sealed } from "../../events/core/sealed.ts";
import { idInStream } from "../../events/core/stream.ts";
import { userEvents } from "../../events/user/user.ts";
import { change, put, remove, statement } from "../core/change.ts";
import { defineReadModel } from "../core/read-model.ts";
import { column, defineTable, type RowOf } from "../core/table.ts";

const { UserForgotten } = userEvents;

const twoFactors = defineTable({
  name: "two_factor",
  columns: {
    user_id: "uuid",
    /** Opened only to check a code. */
    secret: column<Sealed>("text"),
    /** Logins require a code. */
    is_enabled: "boolean",
    /** Digests of those not used. */
    recovery_digests: "text[]",
  },
  key: ["user_id"],
});

export type TwoFactorRow = RowOf<typeof twoFactors>;

export const twoFactorProjection = defineReadModel({
  name: "two_factor",
  version: 2,
  tables: [twoFactors],
  events: { ...twoFactorEvents, UserForgotten },
  effects: {
    TwoFactorPrepared: ({ data: { userId: user_id, secret } }) =>
      put(twoFactors, { user_id, secret, is_enabled: false, recovery_digests: [] }),
    TwoFactorEnabled: ({ stream, data: { recoveryDigests: recovery_digests } }) =>
      change(twoFactors, idOf(stream), { is_enabled: true, recovery_digests }),
    RecoveryCodesRenewed: ({ stream, data: { recoveryDigests: recovery_digests } }) =>
      change(twoFactors, idOf(stream), { recovery_digests }),
    RecoveryCodeUsed: ({ stream, data }) =>
      statement(takeDigest, [data.recoveryDigest, idInStream(stream)]),
    TwoFactorDisabled: ({ stream }) => remove(twoFactors, idOf(stream)),
    UserForgotten: ({ stream }) => remove(twoFactors, idOf(stream)),
  },
});

/** Takes a recovery code from those that are left. */
const takeDigest = `
  update two_factor set recovery_digests = array_remove(recovery_digests, ?) where user_id = ?`;

const idOf = (stream: string) => ({ user_id: idInStream(stream) });

export function findTwoFactor(db: Knex, userId: string): Promise<TwoFactorRow | undefined> {
  return db<TwoFactorRow>("two_factor").where("user_id", userId).first();
}
