import { createHash } from "node:crypto";

import type { EventMetadata } from "../../events/core/event.ts";
import { mergeRequestPairStream } from "../../events/core/reservation.ts";
import { mergeRequestStream } from "../../events/merge-request/merge-request.ts";
import type { EventStore } from "../../platform/event-store/event-store.ts";
import { Refusal } from "../../platform/refusal.ts";
import { currentState } from "../core/handle.ts";
import { releaseName, reserveName } from "../core/reserve-name.ts";
import { mergeRequest } from "./merge-request.ts";

type Deps = Readonly<{ store: EventStore; now: () => string }>;

/** The two branches of a request. */
export type BranchPair = Readonly<{
  projectId: string;
  targetBranch: string;
  sourceProjectId: string;
  sourceBranch: string;
}>;

/**
 * Takes the pair of branches for an open merge request; may be repeated.
 *
 * @throws Refusal 422 `merge_request.pair_taken`
 */
export function reservePair(
  deps: Deps,
  id: string,
  pair: BranchPair,
  metadata: EventMetadata,
): Promise<void> {
  const name = streamOf(pair);
  const toReserve = {
    name,
    holderId: id,
    holderStreams: (holderId: string) => [mergeRequestStream(holderId)],
    // A process that died while it closed or changed a request leaves a pair that is not its own.
    async stillHolds(holderId: string) {
      const state = await currentState(deps.store, mergeRequest, holderId);
      return state.status === "OPENED" && streamOf(state) === name;
    },
    taken,
  };
  return reserveName(deps, toReserve, metadata);
}

const taken = {
  field: "sourceBranch",
  code: "merge_request.pair_taken",
  message: "The two branches already have an open merge request.",
};

export const pairTaken = (): Refusal =>
  new Refusal("unprocessable", taken.code, taken.message, { errors: [taken] });

/** Gives a pair of branches back, unless another request holds it. */
export function releasePair(
  deps: Deps,
  id: string,
  pair: BranchPair,
  metadata: EventMetadata,
): Promise<void> {
  return releaseName(deps, streamOf(pair), id, metadata);
}

function streamOf({ projectId, targetBranch, sourceProjectId, sourceBranch }: BranchPair): string {
  const names = JSON.stringify([sourceProjectId, sourceBranch, targetBranch]);
  const digest = createHash("sha256").update(names).digest("hex").slice(0, 40);
  return mergeRequestPairStream(projectId, digest);
}
