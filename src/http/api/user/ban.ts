import { z } from "zod";
import { user } from "../../../commands/user/user.ts";
import { userSubject } from "../../../events/user/user.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { findUserById } from "../../../projections/user/user.ts";
import { stampOf } from "../../core/command-deps.ts";
import { type Route, route } from "../../core/route.ts";
import { mustBeFound } from "./user.ts";

const tag = "Administration";

const reasonMax = 128;

const Ban = z
  .object({ reason: z.string().max(reasonMax, "At most 128 characters").nullish() })
  .nullish()
  .meta({ id: "Ban" });

const changing = {
  method: "post",
  tag,
  scope: "USER_WRITE",
  access: "admin",
  reply: "empty",
} as const;

const banUser = route({
  ...changing,
  path: "/admin/user/{userUuid}/account/ban",
  operationId: "banUser",
  summary: "Block a user",
  description: "Tokens and passwords of the user stop working at once.",
  body: Ban,
  async handle({ params, body, request }, { vault, now, db }) {
    const id = params.userUuid;
    if (id === request.userId) {
      throw new Refusal("unprocessable", "user.self_block", "You cannot block yourself.");
    }
    mustBeFound(await findUserById(db, id));
    const text = body?.reason ?? null;
    const reason = text === null ? null : await vault.seal(userSubject(id), text);
    const command = {
      type: "BanUser",
      reason,
      ...stampOf(request, { now }),
    } as const;
    await request.execute(user, id, command);
  },
});

const unbanUser = route({
  ...changing,
  path: "/admin/user/{userUuid}/account/unban",
  operationId: "unbanUser",
  summary: "Unblock a user",
  description: "Does nothing when the user is not blocked.",
  async handle({ params, request }, { now }) {
    const id = params.userUuid;
    const command = { type: "UnbanUser", ...stampOf(request, { now }) } as const;
    await request.execute(user, id, command);
  },
});

export const userBanRoutes: readonly Route[] = [banUser, unbanUser];
