import type { Knex } from "knex";
import { z } from "zod";

import type { Recorded } from "../../events/core/event.ts";
import { idInStream } from "../../events/core/stream.ts";
import { lfsObjectEvents } from "../../events/git/lfs-object.ts";
import type { EventStore } from "../../platform/event-store/event-store.ts";
import { ownerOfPackage } from "../../projections/package/registry.ts";
import { findProjectById } from "../../projections/project/project.ts";
import {
  bytesTaken,
  keepRepositorySize,
  noRepository,
} from "../../projections/project/repository-size.ts";
import { projectOfRelease } from "../../projections/release/release.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";
import type { Reactor } from "../core/reactor.ts";
import { defineWorker } from "../core/worker.ts";

const queue = "repository-size";

/** After each LFS object: some are pushed without a ref, and all of them before it. */
export const lfsSize: Reactor = {
  name: "lfs-size",
  types: new Set(Object.keys(lfsObjectEvents)),
  async react({ position, data, metadata }, { visible }) {
    await visible(position);
    const projectId = String(data["projectId"]);
    return [{ queue, id: `${projectId}-${metadata.commandId}`, data: { projectId } }];
  },
};

const fileTypes = [
  "FileUploaded",
  "JobArtifactExpired",
  "JobArtifactStored",
  "JobLogStored",
  "PackageFileDeleted",
  "PackageFileReplaced",
  "PackageFileStored",
  "PackageVersionPurged",
  "PipelineDeleted",
  "RegistryRepositoryDeleted",
  "ReleaseFileAdded",
  "ReleaseFileRemoved",
  "UploadedFileDeleted",
];

/** After files that come by other ways than git, and what takes them away; many of one project are measured once. */
export const fileSize: Reactor = {
  name: "file-size",
  types: new Set(fileTypes),
  batchMs: 500,
  async react(event, { db, store, visible }) {
    await visible(event.position);
    const projectId =
      event.type === "RegistryRepositoryDeleted"
        ? await projectOfStream(store, event.stream)
        : await projectOfFile(db, event);
    if (projectId === undefined) return [];
    return [{ queue, id: `${projectId}-${event.metadata.commandId}`, data: { projectId } }];
  },
  coveredBy: ({ data }) => String(data["projectId"]),
};

/** Undefined for what is gone. The id of a company names nothing that is measured. */
async function projectOfFile(
  db: Knex,
  { type, stream, data: { projectId, packageId } }: Recorded,
): Promise<string | undefined> {
  if (typeof projectId === "string") return projectId;
  if (type.startsWith("Release")) return projectOfRelease(db, idInStream(stream));
  return ownerOfPackage(db, String(packageId));
}

/** Of a repository of packages: nothing but its first event names it once it is deleted. */
async function projectOfStream(store: EventStore, stream: string): Promise<string | undefined> {
  for await (const { data } of store.readStream(stream, 0n, 1)) {
    return data["ownerType"] === "PROJECT" ? String(data["ownerId"]) : undefined;
  }
  return undefined;
}

export const repositorySizeWorker = defineWorker({
  queue,
  concurrency: 2,
  payload: z.object({ projectId: z.uuid() }),
  run: ({ projectId }, deps) => measure(projectId, deps),
});

/** Writes down what a project takes now. */
export async function measure(
  projectId: string,
  { db, git, now }: Pick<WorkerDeps, "db" | "git" | "now">,
): Promise<void> {
  if ((await findProjectById(db, projectId)) === undefined) return;
  const repository = (await git.find(projectId)) ?? noRepository;
  await keepRepositorySize(db, projectId, await bytesTaken(db, projectId, repository), now());
}
