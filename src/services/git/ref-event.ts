import type { RefChange } from "../../commands/repository/repository.ts";
import type { EventMetadata } from "../../events/core/event.ts";
import { ObjectId, UserId } from "../../events/core/ids.ts";
import {
  branchPrefix,
  notesPrefix,
  type RepositoryEvent,
  tagPrefix,
} from "../../events/repository/repository.ts";
import type { Repository } from "../../git/repository.ts";
import { invariant } from "../../platform/invariant.ts";

/** The event of a change, with the facts that only the repository has. */
export async function refEvent(
  repository: Repository,
  { ref, before, after }: RefChange,
  { actor, occurredAt }: EventMetadata,
): Promise<RepositoryEvent> {
  const changedById = actor.userId === null ? null : UserId.parse(actor.userId);
  const by = { changedById, changedAt: occurredAt };

  if (ref.startsWith(branchPrefix)) {
    const data = { branch: ref.slice(branchPrefix.length), ...by };
    if (after === null) return { type: "BranchDeleted", data: { ...data, commitId: id(before) } };
    if (before === null) return { type: "BranchCreated", data: { ...data, commitId: id(after) } };
    const forced = !(await repository.isAncestor(before, after));
    return {
      type: "BranchUpdated",
      data: { ...data, before: id(before), after: id(after), forced },
    };
  }

  if (ref.startsWith(notesPrefix)) {
    const ids = { before: idOrNull(before), after: idOrNull(after) };
    return { type: "NotesChanged", data: { notes: ref.slice(notesPrefix.length), ...by, ...ids } };
  }

  const data = { tag: ref.slice(tagPrefix.length), ...by };
  if (after === null) return { type: "TagDeleted", data: { ...data, objectId: id(before) } };
  const info = await repository.objects.info(after);
  const commitId = await repository.objects.peel(after);
  const points = {
    objectId: id(after),
    commitId: commitId === undefined ? null : id(commitId),
    lightWeight: info?.type !== "tag",
  };
  return before === null
    ? { type: "TagCreated", data: { ...data, ...points } }
    : { type: "TagUpdated", data: { ...data, before: id(before), ...points } };
}

const idOrNull = (text: string | null): ObjectId | null => (text === null ? null : id(text));

function id(text: string | null): ObjectId {
  invariant(text !== null, "a change has an object at one end at least");
  return ObjectId.parse(text);
}
