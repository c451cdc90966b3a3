import { z } from "zod";

/** Roles in projects, teams and companies, weakest first. */
export const Role = z.enum(["GUEST", "REPORTER", "DEVELOPER", "ADMIN"]);
export type Role = z.output<typeof Role>;

/** What has members: a role in a company holds in its teams and projects, one in a team in its projects. */
export const ParentType = z.enum(["COMPANY", "TEAM", "PROJECT"]);
export type ParentType = z.output<typeof ParentType>;
