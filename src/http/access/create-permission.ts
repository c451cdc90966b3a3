import type { Settings } from "../../events/instance/settings.ts";
import { Refusal } from "../../platform/refusal.ts";

const settingOf = {
  project: "projectCreatePermission",
  team: "teamCreatePermission",
  company: "companyCreatePermission",
} as const satisfies Record<string, keyof Settings>;

type Who = Readonly<{ isAdmin: boolean }>;

/** Administrators may always. @throws Refusal 403 `create.forbidden` */
export function mustMayCreate(what: keyof typeof settingOf, who: Who, settings: Settings): void {
  if (who.isAdmin || settings[settingOf[what]]) return;
  const message = `Only administrators may create a ${what} here.`;
  throw new Refusal("forbidden", "create.forbidden", message);
}

/** For a project that is made public, now or later. @throws Refusal 403 `create.public_forbidden` */
export function mustMayPublish(who: Who, settings: Settings): void {
  if (who.isAdmin || settings.publicRepositoryAutoPermission) return;
  const message = "Only administrators may make a project public here.";
  throw new Refusal("forbidden", "create.public_forbidden", message);
}
