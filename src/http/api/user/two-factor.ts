import { z } from "zod";
import { twoFactor } from "../../../commands/access/two-factor.ts";
import type { UserId } from "../../../events/core/ids.ts";
import { userSubject } from "../../../events/user/user.ts";
import { newOtpSecret, newRecoveryCodes, otpAddress } from "../../../platform/identity/otp.ts";
import { verifyPassword } from "../../../platform/identity/password.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { findTwoFactor, type TwoFactorRow } from "../../../projections/access/two-factor.ts";
import { findUserById, type UserRow } from "../../../projections/user/user.ts";
import { recoveryDigest } from "../../access/second-factor.ts";
import type { Deps } from "../../core/deps.ts";
import type { RequestFor } from "../../core/request.ts";
import { type Route, route } from "../../core/route.ts";
import { fieldRefusal } from "../../core/schema.ts";
import { mustBeFound } from "./user.ts";

const common = { tag: "User settings", access: "user", scope: "USER_WRITE" } as const;
const changing = { ...common, method: "post", notForApplications: true } as const;
const path = "/user/settings/two-factor" as const;

type UserRequest = RequestFor<"user">;

const Code = z.object({ code: z.string().min(1).max(64) }).meta({ id: "TwoFactorCode" });

export const TwoFactorView = z
  .object({
    enabled: z.boolean().meta({ description: "Logging in requires codes." }),
    available: z.boolean().meta({ description: "The administrator lets it be used." }),
    recoveryCodesLeft: z.int(),
  })
  .meta({ id: "TwoFactor" });

const Prepared = z
  .object({
    secret: z.string().meta({ description: "Base32; shown once." }),
    otpauthUrl: z.string().meta({ description: "The same for an authenticator app." }),
  })
  .meta({ id: "PreparedTwoFactor" });

const RecoveryCodes = z
  .object({ recoveryCodes: z.array(z.string()).meta({ description: "Shown once." }) })
  .meta({ id: "RecoveryCodes" });

const show = route({
  ...common,
  method: "get",
  path,
  operationId: "getTwoFactor",
  summary: "Say whether one's login takes a second factor",
  scope: "USER_READ",
  reply: TwoFactorView,
  handle: ({ request }, deps) => statusOf(request.userId, deps),
});

const begin = route({
  ...changing,
  path,
  operationId: "prepareTwoFactor",
  summary: "Begin to set up a second factor",
  description: "No codes are required until one of this secret was sent to `…/enable`.",
  body: z.object({ password: z.string().max(512).default("") }).meta({ id: "PrepareTwoFactor" }),
  reply: Prepared,
  secret: true,
  handle: ({ body, request }, deps) => prepare(body.password, request, deps),
});

const finish = route({
  ...changing,
  path: `${path}/enable`,
  operationId: "enableTwoFactor",
  summary: "Set up a second factor, with the first code of it",
  body: Code,
  reply: RecoveryCodes,
  secret: true,
  handle: ({ body, request }, deps) => enable(body.code, request, deps),
});

const again = route({
  ...changing,
  path: `${path}/recovery-code`,
  operationId: "renewRecoveryCodes",
  summary: "Make new recovery codes",
  description: "The old ones are good for nothing from here on.",
  body: Code,
  reply: RecoveryCodes,
  secret: true,
  handle: ({ body, request }, deps) => renew(body.code, request, deps),
});

const end = route({
  ...changing,
  path: `${path}/disable`,
  operationId: "disableTwoFactor",
  summary: "Log in without a second factor again",
  body: Code,
  reply: "empty",
  handle: ({ body, request }, deps) => disable(body.code, request, deps),
});

const reset = route({
  method: "delete",
  path: "/admin/user/{userUuid}/two-factor",
  operationId: "resetTwoFactor",
  notForApplications: true,
  summary: "Switch off the second factor of a user who lost it",
  tag: "Administration",
  scope: "USER_WRITE",
  access: "admin",
  reply: "empty",
  async handle({ params: { userUuid: id }, request }, deps) {
    mustBeFound(await findUserById(deps.db, id));
    const at = deps.now().toISOString();
    await request.execute(twoFactor, id, { type: "DisableTwoFactor", by: request.userId, at });
  },
});

export const twoFactorRoutes: readonly Route[] = [show, begin, finish, again, end, reset];

export async function statusOf(
  userId: UserId,
  { db, settings }: Deps,
): Promise<z.input<typeof TwoFactorView>> {
  const row = await findTwoFactor(db, userId);
  const available = (await settings()).enableTwoFactor;
  const recoveryCodesLeft = row?.recovery_digests.length ?? 0;
  return { enabled: row?.is_enabled === true, available, recoveryCodesLeft };
}

/**
 * A secret for the user's device. It takes the password, so that a stolen token or a browser left
 * open cannot lock the owner out; who has none, because they log in elsewhere, does without.
 *
 * @throws Refusal 403 `two_factor.disabled`, 409 `two_factor.enabled`, 422 `password.wrong`
 */
export async function prepare(password: string, request: UserRequest, deps: Deps) {
  const { userId } = request;
  if (!(await deps.settings()).enableTwoFactor) throw notAvailable();
  const user = mustBeFound(await findUserById(deps.db, userId));
  await mustKnowPassword(user, password, request, deps);
  const secret = newOtpSecret();
  const sealed = await deps.vault.seal(userSubject(userId), secret);
  const at = deps.now().toISOString();
  await request.execute(twoFactor, userId, {
    type: "PrepareTwoFactor",
    userId,
    secret: sealed,
    at,
  });
  // Codes of an older secret are no codes of this one: none of its was used yet.
  await deps.db("public.otp_step").where({ user_id: userId }).delete();
  return { secret, otpauthUrl: otpAddress(secret, user.alias) };
}

async function mustKnowPassword(
  user: UserRow,
  password: string,
  { ip }: UserRequest,
  { lockout }: Deps,
): Promise<void> {
  if (user.password_hash === null) return;
  const right = await lockout.guard({ account: user.id, ip }, async () =>
    (await verifyPassword(password, user.password_hash)) ? true : null,
  );
  if (right !== null) return;
  const message = "The password is wrong.";
  throw fieldRefusal("password", "password.wrong", message);
}

/** @throws Refusal 403 `auth.otp_wrong`, `auth.locked`; 409 when there is nothing to finish */
export async function enable(code: string, request: UserRequest, deps: Deps) {
  const row = await findTwoFactor(deps.db, request.userId);
  if (row === undefined) {
    const message = "Two-factor login has no secret yet. Request a secret first.";
    throw new Refusal("conflict", "two_factor.not_prepared", message);
  }
  await mustBeCode(code, row, request, deps);
  const { recoveryCodes, recoveryDigests } = makeRecoveryCodes(request.userId, deps);
  const at = deps.now().toISOString();
  const { secret } = row;
  const command = { type: "EnableTwoFactor", secret, recoveryDigests, at } as const;
  await request.execute(twoFactor, request.userId, command);
  return { recoveryCodes };
}

/** @throws Refusal 403 `auth.otp_wrong`, `auth.locked`; 409 `two_factor.not_enabled` */
export async function renew(code: string, request: UserRequest, deps: Deps) {
  await mustBeCode(code, await enabledOf(request.userId, deps), request, deps);
  const { recoveryCodes, recoveryDigests } = makeRecoveryCodes(request.userId, deps);
  const at = deps.now().toISOString();
  await request.execute(twoFactor, request.userId, {
    type: "RenewRecoveryCodes",
    recoveryDigests,
    at,
  });
  return { recoveryCodes };
}

/** @throws Refusal 403 `auth.otp_wrong`, `auth.locked`; 409 `two_factor.not_enabled` */
export async function disable(code: string, request: UserRequest, deps: Deps): Promise<void> {
  const { userId: by } = request;
  await mustBeCode(code, await enabledOf(by, deps), request, deps);
  const at = deps.now().toISOString();
  await request.execute(twoFactor, by, { type: "DisableTwoFactor", by, at });
}

async function enabledOf(userId: UserId, { db }: Deps): Promise<TwoFactorRow> {
  const row = await findTwoFactor(db, userId);
  if (row?.is_enabled === true) return row;
  throw new Refusal("conflict", "two_factor.not_enabled", "Two-factor login is not set up.");
}

async function mustBeCode(
  code: string,
  row: TwoFactorRow,
  { userId, actor, ip, requestId }: UserRequest,
  { secondFactor }: Deps,
): Promise<void> {
  const user = { id: userId, alias: actor.alias ?? "" };
  await secondFactor.check({ user, code, ip, requestId }, row);
}

function makeRecoveryCodes(userId: UserId, { vault }: Deps) {
  const recoveryCodes = [...newRecoveryCodes()];
  const recoveryDigests = recoveryCodes.map((code) => recoveryDigest(vault, userId, code));
  return { recoveryCodes, recoveryDigests };
}

function notAvailable(): Refusal {
  const message = "Two-factor login is switched off on this instance.";
  return new Refusal("forbidden", "two_factor.disabled", message);
}
