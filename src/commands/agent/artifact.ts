import { artifactEvents, artifactStream } from "../../events/agent/artifact.ts";
import type { ProjectId, UserId } from "../../events/core/ids.ts";
import type { StoredFile } from "../../events/core/stored-file.ts";
import type { JobId, PipelineId } from "../../events/pipeline/id.ts";
import { unreachable } from "../../platform/invariant.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Slice } from "../core/decider.ts";

export type ArtifactCommand = Readonly<{
  artifactId: string;
  jobId: JobId;
  projectId: ProjectId;
  at: string;
}> &
  Readonly<
    | {
        type: "StoreArtifact";
        pipelineId: PipelineId;
        fileType: string;
        file: StoredFile;
        expireAt: string | null;
      }
    | { type: "LockArtifact" | "UnlockArtifact"; by: UserId }
    | { type: "ExpireArtifact" }
  >;

type Artifact = Readonly<{ fileType: string; expireAt: string | null; locked: boolean }>;
type State = ReadonlyMap<string, Artifact>;

export const artifact: Slice<State, ArtifactCommand, typeof artifactEvents> = {
  events: artifactEvents,
  stream: artifactStream,
  initialState: new Map(),

  decide(state, command) {
    const { artifactId, jobId, projectId, at } = command;
    const of = { artifactId, jobId, projectId };
    const current = state.get(artifactId);
    switch (command.type) {
      case "StoreArtifact": {
        const { pipelineId, fileType, file, expireAt } = command;
        const data = { ...of, pipelineId, fileType, file, expireAt, storedAt: at };
        return [{ type: "JobArtifactStored", data }];
      }
      case "LockArtifact":
        if (mustExist(current).locked) return [];
        return [
          { type: "JobArtifactLocked", data: { ...of, lockedById: command.by, lockedAt: at } },
        ];
      case "UnlockArtifact":
        if (!mustExist(current).locked) return [];
        return [
          {
            type: "JobArtifactUnlocked",
            data: { ...of, unlockedById: command.by, unlockedAt: at },
          },
        ];
      case "ExpireArtifact": {
        if (current === undefined || current.locked) return [];
        if (current.expireAt === null || current.expireAt > at) return [];
        return [{ type: "JobArtifactExpired", data: { ...of, expiredAt: at } }];
      }
      default:
        return unreachable(command);
    }
  },

  evolve(state, event) {
    const next = new Map(state);
    const { artifactId } = event.data;
    const current = state.get(artifactId);
    switch (event.type) {
      case "JobArtifactStored": {
        const { fileType, expireAt } = event.data;
        for (const [id, artifact] of state) if (artifact.fileType === fileType) next.delete(id);
        return next.set(artifactId, { fileType, expireAt, locked: false });
      }
      case "JobArtifactLocked":
      case "JobArtifactUnlocked":
        if (current === undefined) return state;
        return next.set(artifactId, { ...current, locked: event.type === "JobArtifactLocked" });
      case "JobArtifactExpired":
        next.delete(artifactId);
        return next;
      default:
        return unreachable(event);
    }
  },
};

function mustExist(current: Artifact | undefined): Artifact {
  if (current !== undefined) return current;
  throw artifactNotFound();
}

export function artifactNotFound(): Refusal {
  return new Refusal("not_found", "artifact.not_found", "Artifact not found.");
}
