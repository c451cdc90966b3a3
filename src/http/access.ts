/** Roles in projects, teams and companies, weakest first. */
export const roles = ["GUEST", "REPORTER", "DEVELOPER", "ADMIN"] as const;
export type Role = (typeof roles)[number];

/**
 * Who may call an operation.
 * - `anonymous`: everybody, token or not;
 * - `user`: every user with a valid token;
 * - `basic`: alias (or e-mail) and password, not a token;
 * - `admin`: administrators of the instance;
 * - `project:ROLE`: at least that role in the project that the path names. Everybody with a token is
 *   a guest of a public project.
 */
export type Access = "anonymous" | "user" | "basic" | "admin" | `project:${Role}`;

export function atLeast(role: Role | undefined, needed: Role): boolean {
  return role !== undefined && roles.indexOf(role) >= roles.indexOf(needed);
}

export function neededRole(access: Access): Role | undefined {
  return roles.find((role) => access === `project:${role}`);
}
