import { createHash } from "node:crypto";

import type { EventMetadata } from "../../events/core/event.ts";
import {
  type LabelDetails,
  type LabelId,
  labelStream,
  labelTitleStream,
  normaliseTitle,
} from "../../events/label/label.ts";
import type { EventStore } from "../../platform/event-store/event-store.ts";
import { type CommandResult, currentState, handle } from "../core/handle.ts";
import { releaseOldNames, reserveName } from "../core/reserve-name.ts";
import { type LabelCommand, type LabelState, label, labelNotFound } from "./label.ts";

export type LabelDeps = Readonly<{ store: EventStore; now: () => string }>;

type Command<Type extends LabelCommand["type"]> = Extract<LabelCommand, { type: Type }>;

/** Which label, and the envelope of what happens to it. */
type Change = Readonly<{ id: LabelId; metadata: EventMetadata }>;

/** May be repeated with the same label and command. @throws Refusal 422 `label.title_taken` */
export async function createLabel(
  deps: LabelDeps,
  change: Change,
  command: Command<"CreateLabel">,
): Promise<CommandResult> {
  await reserveTitle(deps, change, command.projectId, command.details);
  return handle(deps.store, label, { ...change, command });
}

/** @throws Refusal 422 `label.title_taken`, 404 `label.not_found` */
export async function editLabel(
  deps: LabelDeps,
  change: Change,
  command: Command<"EditLabel">,
): Promise<CommandResult> {
  // A title reserved for a deleted label would stay taken.
  const state = await currentState(deps.store, label, change.id);
  if (state.status !== "created") throw labelNotFound();
  await reserveTitle(deps, change, command.projectId, command.details);
  return finish(deps, change, command);
}

/** @throws Refusal 404 `label.not_found` */
export function deleteLabel(
  deps: LabelDeps,
  change: Change,
  command: Command<"DeleteLabel">,
): Promise<CommandResult> {
  return finish(deps, change, command);
}

function reserveTitle(
  deps: LabelDeps,
  { id, metadata }: Change,
  projectId: string,
  { title }: LabelDetails,
): Promise<void> {
  const name = nameOf(projectId, title);
  const toReserve = {
    name,
    holderId: id,
    holderStreams: (holderId: string) => [labelStream(holderId)],
    // A change that was interrupted leaves a label with two titles, one of which is not its own.
    stillHolds: async (holderId: string) =>
      titleHeldBy(await currentState(deps.store, label, holderId)) === name,
    taken: {
      field: "title",
      code: "label.title_taken",
      message: "The project already has a label with this title.",
    },
  };
  return reserveName(deps, toReserve, metadata);
}

/** Whatever came of the command, titles that are not the label's are released. */
async function finish(
  deps: LabelDeps,
  change: Change,
  command: LabelCommand,
): Promise<CommandResult> {
  try {
    return await handle(deps.store, label, { ...change, command });
  } finally {
    await releaseOldNames(deps, label, change, titleHeldBy);
  }
}

const titleHeldBy = (state: LabelState): string | undefined =>
  state.status === "created" ? nameOf(state.projectId, state.details.title) : undefined;

function nameOf(projectId: string, title: string): string {
  const digest = createHash("sha256").update(normaliseTitle(title)).digest("hex").slice(0, 40);
  return labelTitleStream(projectId, digest);
}
