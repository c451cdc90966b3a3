import { Role } from "../../events/core/role.ts";

export type { Role } from "../../events/core/role.ts";

/** Weakest first. */
export const roles = Role.options;

/** What a path can name that has members and so roles. */
const resources = ["project", "team", "company"] as const;
export type Resource = (typeof resources)[number];

/**
 * Who may call an operation.
 * - `anonymous`: everybody, token or not;
 * - `user`: every user with a valid token;
 * - `basic`: alias (or e-mail) and password, not a token;
 * - `client`: an OAuth application, which authenticates to the handler (RFC 6749, 2.3): its id and
 *   secret come in the header or in the body, and some have none;
 * - `agent`: an agent of pipelines, which authenticates to the handler: by its own token, that of a job
 *   or a registration token, in a header or in the body;
 * - `admin`: administrators of the instance;
 * - `admin:READER`: as `admin`, and while a setting that the route names is on, everybody, with a token
 *   or without one;
 * - `user:READER`: as `user`, and while a setting that the route names is on, everybody without a token;
 * - `project:ROLE`, `team:ROLE`, `company:ROLE`: at least that role in what the path names. Everybody
 *   with a token is a guest of what is public;
 * - `project:READER`: as `project:GUEST`, and while a setting that the route names is on, everybody is
 *   a guest of what is public without a token, too.
 */
export type Access =
  | "anonymous"
  | "user"
  | "basic"
  | "client"
  | "agent"
  | "admin"
  | "admin:READER"
  | "user:READER"
  | "project:READER"
  | `${Resource}:${Role}`;

/** What a setting can open to everybody. */
export function isReader(access: Access): boolean {
  return ["admin:READER", "project:READER", "user:READER"].includes(access);
}

/** Unless a setting opens it. */
export function needsAdministrator(access: Access): boolean {
  return access === "admin" || access === "admin:READER";
}

export function atLeast(role: Role | undefined, needed: Role): boolean {
  return role !== undefined && roles.indexOf(role) >= roles.indexOf(needed);
}

export type Needed = Readonly<{ resource: Resource; role: Role }>;

export function neededRole(access: Access): Needed | undefined {
  if (access === "project:READER") return { resource: "project", role: "GUEST" };
  for (const resource of resources) {
    const role = roles.find((each) => access === `${resource}:${each}`);
    if (role !== undefined) return { resource, role };
  }
  return undefined;
}
