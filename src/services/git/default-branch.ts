import { handle } from "../../commands/core/handle.ts";
import { project } from "../../commands/project/project.ts";
import type { EventMetadata } from "../../events/core/event.ts";
import { branchPrefix } from "../../events/repository/repository.ts";
import type { Repository } from "../../git/repository.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import type { EventStore } from "../../platform/event-store/event-store.ts";

/** Taken first when several branches come at once. */
const usual = ["main", "master", "trunk", "develop"];

type Came = Readonly<{ ref: string; before: string | null; metadata?: EventMetadata }>;

/**
 * A first push under another name than the project's default makes that branch the default, or a
 * clone would show nothing. Doing it again changes nothing, so a crash in between is repaired
 * by the next check of the repository. Answers the log position that shows it, if anything changed.
 *
 * @param came refs that were requested or changed
 */
export async function settleDefaultBranch(
  { store }: Readonly<{ store: EventStore }>,
  { projectId, repository }: Readonly<{ projectId: string; repository: Repository }>,
  came: readonly Came[],
  system: EventMetadata,
): Promise<bigint | undefined> {
  const created = came.filter(({ ref, before }) => ref.startsWith(branchPrefix) && before === null);
  if (created.length === 0) return undefined;
  const head = await repository.head();
  if ((await repository.refs([branchPrefix + head])).size > 0) return undefined;
  const refs = await repository.refs(created.map(({ ref }) => ref));
  const branches = [...refs.keys()].map((ref) => ref.slice(branchPrefix.length)).sort();
  const branch = usual.find((name) => branches.includes(name)) ?? branches[0];
  if (branch === undefined) return undefined;

  await repository.setHead(branch);
  const cause = created.find(({ ref }) => ref === branchPrefix + branch)?.metadata ?? system;
  const commandId = deterministicId(cause.commandId, "default-branch", branch);
  const metadata = { ...cause, commandId };
  const command = { type: "ChangeDefaultBranch", branch, at: metadata.occurredAt } as const;
  const { position } = await handle(store, project, { id: projectId, command, metadata });
  return position;
}
