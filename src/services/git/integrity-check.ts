import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Knex } from "knex";
import { GitFailure } from "../../git/failure.ts";
import { lfsFiles } from "../../git/lfs-files.ts";
import { emptyTree } from "../../git/merge-tree.ts";
import { writeObjects } from "../../git/object/pack-writer.ts";
import type { GitRepositories } from "../../git/repositories.ts";
import type { Refs, Repository } from "../../git/repository.ts";
import type { Blobs } from "../../platform/blob/blobs.ts";
import { BlobMissing } from "../../platform/blob/store.ts";
import { listReferredBlobs } from "../../projections/git/blob-reference.ts";
import { findLfsObjects } from "../../projections/git/lfs-object.ts";
import { everyProject, type ProjectRow } from "../../projections/project/project.ts";
import { recordedRefs } from "../../projections/repository/git-ref.ts";
import { intentsOf } from "./push-intent.ts";
import type { RefRecorder } from "./ref-recorder.ts";

/** Something that does not fit together. */
export type Finding = Readonly<{
  /** `repository anna/search`, `blob 12ab…`. */
  subject: string;
  problem: string;
  /** Mended on the spot. */
  repaired: boolean;
}>;

export type IntegrityCheckDeps = Readonly<{
  db: Knex;
  git: GitRepositories;
  blobs: Pick<Blobs, "read">;
  refs: Pick<RefRecorder, "reconcile">;
}>;

export type IntegrityCheckOptions = Readonly<{
  /**
   * Records what was changed in repositories from outside, and writes an empty tree that is missing. Nothing else can be
   * mended safely.
   */
  repair: boolean;
  signal: AbortSignal;
  onProgress?: (what: string) => void;
}>;

const pageRowsMax = 200;
/** A push that was under way at the first look has ended by then, or is announced. */
const secondLookMs = 1_000;
const namedMax = 5;

/** Every project's repository: that it is there, whole, and what the log says of it. */
export async function* examineRepositories(
  deps: IntegrityCheckDeps,
  options: IntegrityCheckOptions,
): AsyncGenerator<Finding> {
  let after: string | undefined;
  for (;;) {
    const page = await everyProject(deps.db, after, pageRowsMax);
    for (const project of page) {
      options.signal.throwIfAborted();
      const subject = `repository ${project.owner_alias}/${project.alias}`;
      options.onProgress?.(subject);
      yield* examineRepository(deps, project, subject, options);
    }
    if (page.length < pageRowsMax) return;
    after = page.at(-1)?.id;
  }
}

async function* examineRepository(
  deps: IntegrityCheckDeps,
  project: ProjectRow,
  subject: string,
  { repair }: IntegrityCheckOptions,
): AsyncGenerator<Finding> {
  const repository = await deps.git.find(project.id);
  const recorded = await recordedRefs(deps.db, project.id, undefined);
  if (repository === undefined) {
    if (recorded.refs.size === 0) return;
    const problem = `it is not there, and ${recorded.refs.size} branches and tags are recorded`;
    return yield { subject, problem, repaired: false };
  }
  const broken = await checkObjects(repository);
  const mended = repair && broken !== undefined && (await mend(repository, broken));
  if (broken !== undefined) yield { subject, problem: broken, repaired: mended };
  else {
    const missing = await missingLfsFiles(deps, project.id, repository);
    const problem = `files point to LFS objects that it does not have: ${missing}`;
    if (missing !== "") yield { subject, problem, repaired: false };
  }

  if ((await differences(deps, project.id, repository)).length === 0) return;
  await delay(secondLookMs);
  const different = await differences(deps, project.id, repository);
  if (different.length === 0) return;
  const problem = `changed from outside, the log does not know: ${named(different)}`;
  // A broken repository may have lost refs: recording that would make it the truth.
  const records = repair && (broken === undefined || mended);
  if (records) await deps.refs.reconcile(project.id);
  yield { subject, problem, repaired: records };
}

/** Git takes the empty tree for known, and so makes commits of it that it finds broken later. */
async function mend(repository: Repository, broken: string): Promise<boolean> {
  if (!broken.includes(`missing tree ${emptyTree.id}`)) return false;
  await writeObjects(repository, [emptyTree]);
  return (await checkObjects(repository)) === undefined;
}

async function checkObjects(repository: Repository): Promise<string | undefined> {
  try {
    await repository.check();
    return undefined;
  } catch (error) {
    if (!(error instanceof GitFailure)) throw error;
    return `git fsck: ${error.message.replaceAll(/\s+/g, " ")}`;
  }
}

/** Names of refs that stand elsewhere than recorded, but for those a push is about to change. */
async function differences(
  { db }: IntegrityCheckDeps,
  projectId: string,
  repository: Repository,
): Promise<readonly string[]> {
  const announced = new Set((await intentsOf(db, projectId)).map(({ ref }) => ref));
  const actual: Refs = await repository.refs();
  const { refs: recorded } = await recordedRefs(db, projectId, undefined);
  const names = new Set([...actual.keys(), ...recorded.keys()]);
  return [...names]
    .filter((ref) => actual.get(ref) !== recorded.get(ref) && !announced.has(ref))
    .sort();
}

/** Pushes bring pointers before, or without, their objects. Empty when all of it is there. */
async function missingLfsFiles(
  { db }: IntegrityCheckDeps,
  projectId: string,
  repository: Repository,
): Promise<string> {
  const missing: string[] = [];
  let count = 0;
  for await (const files of lfsFiles(repository)) {
    const oids = files.map(({ oid }) => oid);
    const stored = await findLfsObjects(db, projectId, oids);
    const lacking = files.filter(({ oid }) => !stored.has(oid));
    count += lacking.length;
    const room = namedMax - missing.length;
    missing.push(...lacking.slice(0, room).map(({ path, oid }) => `${path} (${oid})`));
  }
  return named(missing, count);
}

function named(names: readonly string[], count = names.length): string {
  const more = count - Math.min(names.length, namedMax);
  return names.slice(0, namedMax).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

/** Every blob that anything refers to: that it is there, and that its bytes are those it is named by. */
export async function* examineBlobs(
  { db, blobs }: Pick<IntegrityCheckDeps, "db" | "blobs">,
  options: IntegrityCheckOptions,
): AsyncGenerator<Finding> {
  for (let after = ""; ; ) {
    const page = await listReferredBlobs(db, after, pageRowsMax);
    for (const digest of page) yield* examineBlob(blobs, digest, options);
    if (page.length < pageRowsMax) return;
    after = page.at(-1) ?? after;
  }
}

async function* examineBlob(
  blobs: Pick<Blobs, "read">,
  digest: string,
  { signal, onProgress }: IntegrityCheckOptions,
): AsyncGenerator<Finding> {
  signal.throwIfAborted();
  const subject = `blob ${digest}`;
  onProgress?.(subject);
  const problem = await checkBlob(blobs, digest);
  if (problem !== undefined) yield { subject, problem, repaired: false };
}

async function checkBlob(blobs: Pick<Blobs, "read">, digest: string): Promise<string | undefined> {
  const hash = createHash("sha256");
  try {
    for await (const chunk of await blobs.read(digest)) hash.update(chunk as Buffer);
  } catch (error) {
    if (error instanceof BlobMissing) return "it is not there, and something refers to it";
    return `it cannot be read: ${error instanceof Error ? error.message : String(error)}`;
  }
  const actual = hash.digest("hex");
  return actual === digest ? undefined : `its bytes were changed: they are ${actual}`;
}

/** What is stored, by itself: only the read models say which repositories and blobs have to be there. */
export async function* examineContent(
  {
    git,
    blobs,
  }: Pick<IntegrityCheckDeps, "git"> & Readonly<{ blobs: Pick<Blobs, "read" | "list"> }>,
  projectIds: AsyncIterable<string>,
  options: IntegrityCheckOptions,
): AsyncGenerator<Finding> {
  for await (const projectId of projectIds) {
    options.signal.throwIfAborted();
    const subject = `repository ${projectId}`;
    options.onProgress?.(subject);
    const repository = await git.find(projectId);
    const problem = repository && (await checkObjects(repository));
    if (problem !== undefined) yield { subject, problem, repaired: false };
  }
  for await (const digest of blobs.list(new Date())) {
    yield* examineBlob(blobs, digest, options);
  }
}
