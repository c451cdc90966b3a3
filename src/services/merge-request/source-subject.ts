import type { Knex } from "knex";
import type { GitRepositories } from "../../git/repositories.ts";
import type { EventStore } from "../../platform/event-store/event-store.ts";
import type { ProjectRow } from "../../projections/project/project.ts";

/** What it takes to bring the newest source into a request. */
export type SourceDeps = Readonly<{
  store: EventStore;
  db: Knex;
  git: GitRepositories;
  config: Readonly<{ projectBytesMax: number | null; userBytesMax: number | null }>;
  visible: (position: bigint | undefined) => Promise<void>;
  now: () => Date;
}>;

export type Brought = Readonly<{
  sourceProjectId: string;
  target: ProjectRow;
  authorId: string;
  sourceCommit: string;
  /** The version that the target keeps so far, with all that it leads to. */
  previousCommit?: string;
}>;
