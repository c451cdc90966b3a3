import type { Actor } from "../../events/core/event.ts";
import type { UserId } from "../../events/core/ids.ts";
import type { Role } from "../../events/core/role.ts";
import type { ProjectRow } from "../../projections/project/project.ts";

/** Who fetches or pushes, as far as they are authenticated, whichever way they came. */
export type GitCaller = Readonly<{
  actor: Actor;
  userId: UserId | null;
  /** The key that a connection over SSH was opened by. */
  sshKeyId?: string | undefined;
}>;

/** A project, and what the caller is in it. */
export type GitAccess = Readonly<{ project: ProjectRow; role: Role }>;
