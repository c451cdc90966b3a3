import { assignLocalId } from "../../commands/core/local-id.ts";
import { issueStream } from "../../events/issue/issue.ts";
import { unnumberedIssues } from "../../projections/issue/list.ts";
import { causedBy } from "../../services/core/caused-by.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";

/** The process that creates an issue numbers it within seconds, or is dead. */
const abandonedAfterMs = 60_000;
const sweptAtOnce = 200;

/** Numbers the issues whose process died between creating and numbering them. */
export async function sweepUnnumberedIssues(
  deps: Pick<WorkerDeps, "store" | "db" | "now">,
): Promise<void> {
  const { store, db, now } = deps;
  const before = new Date(now().getTime() - abandonedAfterMs);
  for (const { id, project_id } of await unnumberedIssues(db, before, sweptAtOnce)) {
    for await (const created of store.readStream(issueStream(id))) {
      const subject = {
        kind: "ISSUE",
        projectId: project_id,
        subjectId: id,
        createdPosition: created.position,
      } as const;
      const numbering = { store, now: () => now().toISOString() };
      await assignLocalId(numbering, subject, causedBy(created, created.metadata.commandId, now()));
      break;
    }
  }
}
