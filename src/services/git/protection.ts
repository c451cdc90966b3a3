import { isNewRefName, isRefName } from "../../git/name.ts";
import type { PushCommand, PushHead } from "../../git/push/request.ts";
import { breather } from "../../platform/breather.ts";
import { type RefProtections, refChangeRefused } from "../../projections/protection/applicable.ts";
import type { GitAccess } from "./caller.ts";

export type PushProtection = Readonly<{
  protections: (project: GitAccess["project"]) => Promise<RefProtections>;
}>;

export type ProtectedPush = Readonly<{
  /** Ref → why it is not changed. */
  refused: ReadonlyMap<string, string>;
  /**
   * A branch that must not lose commits is among the rest. Only git can decide that, once it has the pack,
   * and it knows this for all branches of a push or none: the others then move only forward too.
   */
  denyForced: boolean;
}>;

const notTaken = "only branches, tags and notes can be pushed";
const notAName = "not a name that git or the service can keep";
const overLimit = "the project has reached its size limit";

/**
 * Holds every ref of a push against the rules of the service and of the project: the refused ones are
 * taken out, the rest goes on. A push that must succeed as a whole (`--atomic`) is refused as a whole.
 */
export async function protectedFrom(
  { project, role }: GitAccess,
  { commands, capabilities }: PushHead,
  deps: PushProtection & Readonly<{ room: number }>,
): Promise<ProtectedPush> {
  const protections = await deps.protections(project);
  const refused = new Map<string, string>();
  let denyForced = false;
  const breathe = breather();
  for (const command of commands) {
    await breathe();
    const protection = protections.of(command.ref);
    const full = deps.room === 0 && command.after !== null;
    const why =
      refNotTaken(command) ??
      refChangeRefused(protection, role, command) ??
      (full ? overLimit : undefined);
    if (why !== undefined) refused.set(command.ref, why);
    else if (protection?.kind === "BRANCH" && command.before !== null) {
      denyForced ||= !protection.allowForcePush;
    }
  }
  if (refused.size > 0 && capabilities.has("atomic")) {
    for (const { ref } of commands) if (!refused.has(ref)) refused.set(ref, "atomic push failed");
  }
  return { refused, denyForced };
}

/** What other services keep outside of these, a mirror of a repository brings along. */
function refNotTaken({ ref, after }: PushCommand): string | undefined {
  if (!/^refs\/(?:heads|tags|notes)\//.test(ref)) return notTaken;
  // What is there by such a name may go.
  if (after === null && isRefName(ref)) return undefined;
  return isNewRefName(ref) ? undefined : notAName;
}
