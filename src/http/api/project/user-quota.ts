import { z } from "zod";
import { user } from "../../../commands/user/user.ts";
import { UserId } from "../../../events/core/ids.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { userAllowedBytes, userBytesTaken } from "../../../projections/project/user-quota.ts";
import { findUserById } from "../../../projections/user/user.ts";
import { stampOf } from "../../core/command-deps.ts";
import type { Deps } from "../../core/deps.ts";
import { type Route, route } from "../../core/route.ts";
import { int } from "../../core/schema.ts";

const common = {
  path: "/admin/user/{userUuid}/quota",
  tag: "Administration",
  scope: "USER_WRITE",
  access: "admin",
} as const;

const QuotaView = z
  .object({
    userId: UserId,
    allowedBytes: z.int().nullable().meta({ description: "Null: there is no limit." }),
    ownBytes: z.int().nullable().meta({ description: "Null: the limit is the instance's." }),
    usedBytes: z
      .int()
      .meta({ description: "What it has brought into projects without being a member, now." }),
  })
  .meta({ id: "UserQuota" });

const getQuota = route({
  ...common,
  method: "get",
  operationId: "getUserQuota",
  summary: "Get how much a user has brought into projects of others and may bring",
  reply: QuotaView,
  handle: ({ params }, deps) => findView(deps, params.userUuid),
});

const changeQuota = route({
  ...common,
  method: "put",
  operationId: "changeUserQuota",
  summary: "Change how much a user may bring into projects of others",
  description:
    "Files uploaded to projects where the user is no member count. What would be more is refused; what is there already stays.",
  body: z
    .object({
      allowedBytes: int({ min: 0 }).nullable().meta({
        description: "Null: as much as any user of the instance.",
        example: 1_073_741_824,
      }),
    })
    .meta({ id: "UserQuotaChange" }),
  reply: QuotaView,
  async handle({ params: { userUuid: id }, body: { allowedBytes: bytes }, request }, deps) {
    await findView(deps, id);
    const stamp = stampOf(request, deps);
    const command = { type: "SetUserQuota", allowedBytes: bytes, ...stamp } as const;
    await request.execute(user, id, command);
    return findView(deps, id);
  },
});

async function findView({ db, config }: Deps, id: string) {
  const row = await findUserById(db, id);
  if (row === undefined || row.forgotten_at !== null) {
    throw new Refusal("not_found", "user.not_found", "User not found.");
  }
  return {
    userId: row.id,
    allowedBytes: userAllowedBytes(row, config.userBytesMax),
    ownBytes: row.allowed_bytes === null ? null : Number(row.allowed_bytes),
    usedBytes: await userBytesTaken(db, row.id),
  };
}

export const userQuotaRoutes: readonly Route[] = [changeQuota, getQuota];
