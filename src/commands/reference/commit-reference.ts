import type { ProjectId } from "../../events/core/ids.ts";
import {
  type CommitReferenceEvent,
  commitReferenceEvents,
  commitReferenceStream,
  type ReferringCommit,
} from "../../events/reference/commit-reference.ts";
import type { Slice } from "../core/decider.ts";

export type CommitReferenceCommand = Readonly<{
  type: "RecordCommitReferences";
  projectId: ProjectId;
  commits: readonly ReferringCommit[];
  at: string;
}>;

type State = Readonly<{ isRecorded: boolean }>;

/** They keep an event with long titles and many references far below the limit of the store. */
const commitsAtOnce = 100;
const referencesAtOnce = 1_000;

export const commitReference: Slice<State, CommitReferenceCommand, typeof commitReferenceEvents> = {
  events: commitReferenceEvents,
  stream: commitReferenceStream,
  initialState: { isRecorded: false },

  /** A repeated search changes nothing. */
  decide({ isRecorded }, { projectId, commits, at: foundAt }) {
    if (isRecorded) return [];
    const events: CommitReferenceEvent[] = [];
    for (let from = 0; from < commits.length; ) {
      const some = commits.slice(from, from + countAtOnce(commits, from));
      const data = { projectId, commits: some, foundAt };
      events.push({ type: "CommitReferencesFound", data });
      from += some.length;
    }
    return events;
  },

  evolve() {
    return { isRecorded: true };
  },
};

/** How many of the commits one event takes, beginning with this one: at least one. */
function countAtOnce(commits: readonly ReferringCommit[], from: number): number {
  let [count, references] = [0, 0];
  for (const commit of commits.slice(from, from + commitsAtOnce)) {
    references += commit.references.length;
    if (count > 0 && references > referencesAtOnce) break;
    count += 1;
  }
  return count;
}
