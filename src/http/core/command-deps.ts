import type { ProjectId, UserId } from "../../events/core/ids.ts";
import type { Deps } from "./deps.ts";

/** What processes over commands take, out of what handlers have. */
export function commandDeps({ store, vault, now, hash }: Deps) {
  return { store, vault, now: () => now().toISOString(), hash };
}

/** Who sends a command and when, as commands name it. */
export type Stamp = Readonly<{ by: UserId; at: string }>;
type ByUser = Readonly<{ userId: UserId }>;
type Clock = Pick<Deps, "now">;

export function stampOf({ userId: by }: ByUser, { now }: Clock): Stamp {
  return { by, at: now().toISOString() };
}

type AtProject = ByUser & Readonly<{ project: Readonly<{ id: ProjectId }> }>;

/** For commands that name their project as well. */
export function projectStampOf(
  request: AtProject,
  deps: Clock,
): Stamp & Readonly<{ projectId: ProjectId }> {
  return { projectId: request.project.id, ...stampOf(request, deps) };
}

/** A command about something of a project, before it is known of which, by whom and when. */
export type Unplaced<Command> = Command extends unknown
  ? Omit<Command, "projectId" | keyof Stamp>
  : never;

export function placed<Command>(
  order: Unplaced<Command>,
  request: AtProject,
  deps: Clock,
): Command {
  // Each member of the union lost these fields, and gets them back.
  return { ...order, ...projectStampOf(request, deps) } as Command;
}

export type Unstamped<Command> = Command extends unknown ? Omit<Command, keyof Stamp> : never;

export function stamped<Command>(command: Unstamped<Command>, stamp: Stamp): Command {
  // Each member of the union lost these fields, and gets them back.
  return { ...command, ...stamp } as Command;
}
