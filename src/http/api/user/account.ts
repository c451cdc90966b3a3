import { z } from "zod";

import { mustNotBeReserved } from "../../../commands/core/reserved-alias.ts";
import {
  changeUserAlias,
  changeUserEmail,
  changeUserPassword,
} from "../../../commands/user/change-user.ts";
import { user } from "../../../commands/user/user.ts";
import { Alias } from "../../../events/core/ids.ts";
import type { Settings } from "../../../events/instance/settings.ts";
import { userSubject } from "../../../events/user/user.ts";
import { verifyPassword } from "../../../platform/identity/password.ts";
import { findUserById } from "../../../projections/user/user.ts";
import { changedCountsAsConfirmed, mustBeAllowedEmail } from "../../access/email-rule.ts";
import { commandDeps } from "../../core/command-deps.ts";
import type { Deps } from "../../core/deps.ts";
import { type Route, route } from "../../core/route.ts";
import { fieldRefusal } from "../../core/schema.ts";
import { Email, mustBeFound, Password } from "./user.ts";
import { OwnUserView, userView } from "./view.ts";

const tag = "User settings";
const common = { tag, scope: "USER_WRITE", access: "user" } as const;

export const NewEmail = z.object({ email: Email }).meta({ id: "NewEmail" });
export const NewUsername = z.object({ username: Alias }).meta({ id: "NewUsername" });

const putOwnEmail = route({
  ...common,
  method: "put",
  path: "/user/change-email",
  operationId: "changeOwnEmail",
  notForApplications: true,
  summary: "Change one's e-mail",
  body: NewEmail,
  reply: "empty",
  async handle({ body, request }, deps) {
    const settings = await deps.settings();
    mustBeAllowedEmail(body.email, settings);
    const { userId } = request;
    const wanted = { email: body.email, confirmed: changedCountsAsConfirmed(settings) };
    await request.executeProcess((metadata) =>
      changeUserEmail(commandDeps(deps), { userId, by: userId, metadata }, wanted),
    );
  },
});

const putOwnUsername = route({
  ...common,
  method: "put",
  path: "/user/change-username",
  operationId: "changeOwnUsername",
  summary: "Change one's alias",
  description: "The old alias becomes free; projects move with their owner.",
  body: NewUsername,
  reply: "empty",
  async handle({ body, request }, deps) {
    mustNotBeReserved(body.username, "username");
    const { userId } = request;
    await request.executeProcess((metadata) =>
      changeUserAlias(commandDeps(deps), { userId, by: userId, metadata }, body.username),
    );
  },
});

/** How many passwords may not be reused: the current one and the archived ones before it. */
export function archivedPasswords(settings: Settings): number {
  return settings.archiveUserPasswordsIsEnabled ? settings.maxUserArchivedPasswords + 1 : 0;
}

/** @throws Refusal 422 when the two differ */
export function mustBeConfirmed(body: Readonly<{ password: string; passwordConfirm: string }>) {
  if (body.password === body.passwordConfirm) return;
  throw fieldRefusal("passwordConfirm", "password.confirmation", "The two passwords differ.");
}

const putOwnPassword = route({
  ...common,
  method: "put",
  path: "/user/change-password",
  operationId: "changeOwnPassword",
  notForApplications: true,
  summary: "Change one's password",
  body: z
    .object({
      oldPassword: z.string().max(512),
      password: Password,
      passwordConfirm: z.string().max(512),
    })
    .meta({ id: "OwnPasswordChange" }),
  reply: "empty",
  async handle({ body, request }, deps) {
    mustBeConfirmed(body);
    const { userId } = request;
    const row = mustBeFound(await findUserById(deps.db, userId));
    // A stolen token is no way to guess the password by.
    const right = await deps.lockout.guard({ account: userId, ip: request.ip }, async () =>
      (await verifyPassword(body.oldPassword, row.password_hash)) ? true : null,
    );
    if (right === null) {
      throw fieldRefusal("oldPassword", "password.wrong", "The old password is wrong.");
    }
    const wanted = { password: body.password, unlike: archivedPasswords(await deps.settings()) };
    await request.executeProcess((metadata) =>
      changeUserPassword(commandDeps(deps), { userId, by: userId, metadata }, wanted),
    );
  },
});

const Name = z.string().trim().max(255).nullish();
const Picture = z
  .union([z.literal(""), z.url({ protocol: /^https?$/ }).max(2_000)], "This is not a web address")
  .nullish();

const Profile = z
  .object({ name: Name, surname: Name, avatar: Picture, cover: Picture })
  .meta({ id: "Profile", description: "What is not given stays as it is." });

const putOwnProfile = route({
  ...common,
  method: "put",
  path: "/user/profile",
  operationId: "changeOwnProfile",
  summary: "Change one's name and pictures",
  body: Profile,
  reply: OwnUserView,
  async handle({ body, request }, deps) {
    const { userId } = request;
    const command = {
      type: "ChangeUserProfile",
      ...(await sealedProfile(deps, userId, body)),
      by: userId,
      at: deps.now().toISOString(),
    } as const;
    await request.execute(user, userId, command);
    const changed = mustBeFound(await findUserById(deps.db, userId));
    return { ...userView(changed), email: changed.email ?? "" };
  },
});

/** Only the fields that were given: parallel changes of different fields both stay. */
async function sealedProfile(
  { vault }: Deps,
  userId: string,
  { name, surname, avatar, cover }: z.output<typeof Profile>,
) {
  const seal = async (text: string | null | undefined) => {
    if (text === undefined) return undefined;
    return text === null || text === "" ? null : await vault.seal(userSubject(userId), text);
  };
  return {
    name: await seal(name),
    surname: await seal(surname),
    avatar: await seal(avatar),
    cover: await seal(cover),
  };
}

export const userAccountRoutes: readonly Route[] = [
  putOwnEmail,
  putOwnPassword,
  putOwnProfile,
  putOwnUsername,
];
