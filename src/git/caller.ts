import type { Actor } from "../events/event.ts";
import type { UserId } from "../events/ids.ts";
import type { Role } from "../events/role.ts";
import type { ProjectRow } from "../projections/project.ts";

/** Who fetches or pushes, as far as they proved it, whichever way they came. */
export type GitCaller = Readonly<{ actor: Actor; userId: UserId | null }>;

/** A project, and what the caller is in it. */
export type GitPlace = Readonly<{ project: ProjectRow; role: Role }>;
