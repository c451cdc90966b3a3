import { Refusal } from "../../platform/refusal.ts";

/**
 * Literal segments of paths in which an alias could stand (`/user/me`, `/project/my`, …): an owner
 * of such an alias could not be reached.
 */
const reserved: ReadonlySet<string> = new Set([
  "all",
  "audit",
  "change-email",
  "change-password",
  "change-username",
  "following",
  "instance",
  "me",
  "my",
  "oauth",
  "profile",
  "push-stats",
  "registry",
  "rest-api",
  "settings",
  "shared",
  "transfer",
]);

/** A path segment of this form is read as an id, not as an alias. */
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * For aliases of users, teams and companies.
 *
 * @throws Refusal `unprocessable` with `alias.reserved`.
 */
export function mustNotBeReserved(alias: string, field = "alias"): void {
  if (!reserved.has(alias.toLowerCase()) && !uuid.test(alias)) return;
  const message = "This alias is reserved.";
  throw new Refusal("unprocessable", "alias.reserved", message, {
    errors: [{ field, code: "alias.reserved", message }],
  });
}
