import { artifact } from "../../commands/agent/artifact.ts";
import { handle } from "../../commands/core/handle.ts";
import { bySystem } from "../../events/core/system.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { expiredArtifacts } from "../../projections/agent/artifact.ts";
import type { Sweep } from "../core/sweep.ts";

const artifactsAtOnce = 500;

/** Artifacts whose time is over. Their blobs are collected once nothing refers to them. */
export const sweepArtifacts: Sweep = async ({ db, store, now }) => {
  const at = now();
  for (const row of await expiredArtifacts(db, at, artifactsAtOnce)) {
    const of = { artifactId: row.id, jobId: row.job_id, projectId: row.project_id };
    const command = { type: "ExpireArtifact", ...of, at: at.toISOString() } as const;
    const commandId = deterministicId("expire artifact", row.id, at.toISOString());
    const metadata = bySystem({ commandId }, at.toISOString());
    await handle(store, artifact, { id: row.job_id, command, metadata });
  }
};
