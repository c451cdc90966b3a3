import { handle } from "../../commands/core/handle.ts";
import { assignLocalId } from "../../commands/core/local-id.ts";
import { pipeline } from "../../commands/pipeline/pipeline.ts";
import type { EventMetadata } from "../../events/core/event.ts";
import { JobId, PipelineId } from "../../events/pipeline/id.ts";
import { serviceNumberProject, serviceNumberSubject } from "../../events/pipeline/number.ts";
import type { PipelineOrigin, PlannedJob } from "../../events/pipeline/pipeline.ts";
import { projectSubject } from "../../events/project/project.ts";
import { branchPrefix } from "../../events/repository/repository.ts";
import type { CompiledPipeline, PipelineFacts } from "../../pipeline-file/compile.ts";
import { type FileToCompile, PipelineCompiler } from "../../pipeline-file/compiler.ts";
import { expander, type Variables } from "../../pipeline-file/expand.ts";
import { type FileText, PipelineFileError } from "../../pipeline-file/value.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { mask, maskedForms } from "../../platform/job-log/mask.ts";
import { NotOpened } from "../../platform/key/vault.ts";
import { clipText, storableText } from "../../platform/storable-text.ts";
import { findSettings } from "../../projections/instance/settings.ts";
import { addressesOf } from "../../projections/project/address.ts";
import type { ProjectRow } from "../../projections/project/project.ts";
import { refProtections } from "../../projections/protection/applicable.ts";
import type { WorkerDeps } from "../core/deps.ts";
import { commitSource, pipelineFileNames } from "./commit-source.ts";
import { factsOf, readFile } from "./facts.ts";
import { mergeRequestVariables } from "./merge-request-variable.ts";
import { parentVariables } from "./parent-variable.ts";
import { predefinedVariables } from "./predefined.ts";
import type { Turn } from "./push-order.ts";
import { settingVariables } from "./setting-variable.ts";
import { userVariables } from "./user-variable.ts";

export type CreateDeps = Pick<
  WorkerDeps,
  | "store"
  | "db"
  | "git"
  | "vault"
  | "visible"
  | "now"
  | "publicUrl"
  | "publicSshHost"
  | "publicSshPort"
>;

/** One for each process; see docs/adr/0068-pipeline-file.md. */
export const pipelineFiles: Pick<PipelineCompiler, "compile"> = new PipelineCompiler();

export type NewPipeline = Readonly<{
  project: ProjectRow;
  origin: PipelineOrigin;
  /** Given at the start, for this pipeline alone. */
  variables: Readonly<Record<string, string>>;
  /** Its command id names the pipeline: repeated, it creates nothing more. */
  metadata: EventMetadata;
  /** In the place of the project's file. */
  file?: GivenFile;
  /** Before which it gets no number. */
  turn?: Turn;
}>;

type GivenFile = Readonly<{ name: string; text: string }> & Pick<PipelineFacts, "readArtifact">;

export type CreatedPipeline = Readonly<{
  pipelineId: PipelineId;
  localId: number;
  /** Log position that shows it with its numbers. */
  position: bigint;
  jobs: number;
}>;

/** Nothing came of it: there is no file, its `workflow` refuses, or no job is left. */
export type NoPipeline = Readonly<{ none: "no_file" | "refused" | "no_jobs" }>;

/** What fits into one append beside the event before it, of the 1 MiB a store takes. */
const planBytesMax = 384 * 1024;

/**
 * Creates a pipeline from the file of its commit: plan, jobs and numbers. A file with mistakes makes
 * a failed pipeline that names them. Every step may be repeated.
 *
 * @throws Refusal 503 `pipeline.busy`; StoreUnavailable
 */
export async function createPipeline(
  deps: CreateDeps,
  { file: given, ...wanted }: NewPipeline,
): Promise<CreatedPipeline | NoPipeline> {
  const { project, origin, variables } = wanted;
  const repository = await deps.git.find(project.id);
  if (repository === undefined) return { none: "no_file" };
  const file = given ?? (await projectFile(repository, origin.commitId));
  if (file === undefined) return { none: "no_file" };

  const [ofCommit, isProtected, instance] = await Promise.all([
    commitSource(repository, origin),
    isProtectedRef(deps, project, origin),
    findSettings(deps.db),
  ]);
  const [ofRequests, ofParent, ofUser] = await Promise.all([
    mergeRequestVariables(deps, project, origin),
    parentVariables(deps, project, origin),
    userVariables(deps, origin.userId),
  ]);
  const more = new Map([...ofRequests, ...Object.entries({ ...ofParent, ...ofUser })]);
  const addresses = addressesOf(deps, instance);
  const sources = { project, origin, ...ofCommit, isProtected, more, addresses };
  const outer = await settingsOf(deps, project, isProtected);
  if (outer === undefined) {
    const failed = { compiled: undefined, failureReason: unreadableReason };
    return record(deps, { ...wanted, ...failed });
  }
  const predefined = predefinedVariables(sources);
  const values = new Map([
    ...[...outer].map(([key, { value }]) => [key, value] as const),
    ...Object.entries(variables),
  ]);
  const facts = factsOf(deps, {
    repository,
    origin,
    ...(given?.readArtifact && { readArtifact: given.readArtifact }),
    predefined,
    outer: values,
    atStart: new Map(Object.entries(variables)),
  });
  const masked = [...outer].flatMap(([key, each]) => (each.masked ? [key] : []));
  const keys = [...masked, ...Object.keys(variables)];
  const secrets = textsOf(new Map([...predefined, ...values]), keys);
  const by = { user: origin.userId ?? project.owner_user_id, project: project.id };
  const toCompile = { text: file.text, fileName: file.name, ...by };
  const outcome = await compileFile(toCompile, facts, secrets);
  if ("none" in outcome) {
    if (given === undefined) return outcome;
    // The job that starts it fails; a pipeline without jobs shows the reason as well.
    const failed = { compiled: undefined, failureReason: noPipelineReason[outcome.none] };
    return record(deps, { ...wanted, ...failed });
  }
  return record(deps, { ...wanted, ...outcome });
}

/** Undefined when one of them cannot be opened. */
async function settingsOf(deps: CreateDeps, project: ProjectRow, isProtected: boolean) {
  try {
    return await settingVariables(deps, { project, isProtected, environment: null });
  } catch (error) {
    if (error instanceof NotOpened) return undefined;
    throw error;
  }
}

const reasonLengthMax = 2_000;
const warningsMax = 20;
const warningLengthMax = 500;
const unreadableReason =
  "A variable of the project, its team or company, or the service cannot be read, because its key is lost: set it anew.";
export const noPipelineReason: Readonly<Record<NoPipeline["none"], string>> = {
  no_file: "The project has no pipeline file on that branch or tag.",
  refused: "The workflow rules of the file let no pipeline start.",
  no_jobs: "The rules of the file leave no job.",
};

/** Values of variables as a reason may have them: as they are written, with variables filled in, and as paths. */
function textsOf(variables: Variables, keys: readonly string[]): readonly string[] {
  const look = expander(variables, new Set());
  const texts = keys.flatMap((key) => [variables.get(key) ?? "", look(key) ?? ""]);
  return texts.flatMap((text) => [text, text.replace(/^\.?\//, "")]);
}

type MadeOfFile = Readonly<{
  /** Undefined for a file with mistakes, which the reason names. */
  compiled: CompiledPipeline | undefined;
  failureReason: string | null;
}>;

/** @param secrets values of variables that no reason may show: all may see it who see the pipeline */
async function compileFile(
  file: FileToCompile,
  facts: PipelineFacts,
  secrets: readonly string[],
): Promise<MadeOfFile | NoPipeline> {
  let forms: ReturnType<typeof maskedForms> | undefined;
  const masked = async (message: string, lengthMax: number) => {
    forms ??= maskedForms(secrets);
    const text = mask(Buffer.from(message), await forms).toString();
    return clipText(storableText(text), lengthMax);
  };
  try {
    const compiled = await pipelineFiles.compile(file, facts);
    if (compiled.refused) return { none: "refused" };
    if (compiled.jobs.length === 0) return { none: "no_jobs" };
    const warnings: string[] = [];
    for (const each of compiled.warnings.slice(0, warningsMax)) {
      warnings.push(await masked(each, warningLengthMax));
    }
    return { compiled: { ...compiled, warnings }, failureReason: null };
  } catch (error) {
    if (!(error instanceof PipelineFileError)) throw error;
    return { compiled: undefined, failureReason: await masked(error.message, reasonLengthMax) };
  }
}

type Repository = NonNullable<Awaited<ReturnType<WorkerDeps["git"]["find"]>>>;

/** The file of a commit, by the first of its names. */
export async function projectFile(
  repository: Repository,
  commitId: string,
): Promise<Readonly<{ name: string; text: FileText }> | undefined> {
  for (const name of pipelineFileNames) {
    const text = await readFile(repository, commitId, name);
    if (text !== undefined) return { name, text };
  }
  return undefined;
}

/**
 * Whether a rule protects the branch or tag; protected variables and agents are for these. For a merge
 * request both of its branches must be, and of this project: a fork's commits are those of others.
 */
export async function isProtectedRef(
  { db }: Pick<WorkerDeps, "db">,
  project: ProjectRow,
  { ref, isTag, mergeRequest }: Pick<PipelineOrigin, "ref" | "isTag" | "mergeRequest">,
): Promise<boolean> {
  const protections = await refProtections(db, project);
  const isProtected = (name: string) => protections.of(name) !== null;
  if (mergeRequest === null) return isProtected(`refs/${isTag ? "tags" : "heads"}/${ref}`);
  const { projectId, sourceProjectId, sourceBranch, targetBranch } = mergeRequest;
  if (projectId !== project.id || sourceProjectId !== project.id) return false;
  return [sourceBranch, targetBranch].every((branch) => isProtected(branchPrefix + branch));
}

/** The pipeline that a command creates. */
export const pipelineIdOf = ({ commandId }: Pick<EventMetadata, "commandId">): PipelineId =>
  PipelineId.parse(deterministicId(commandId, "pipeline"));

type ToRecord = Omit<NewPipeline, "file"> & MadeOfFile;

async function record(
  deps: CreateDeps,
  { project, origin, variables, metadata, turn, compiled, failureReason }: ToRecord,
): Promise<CreatedPipeline> {
  const pipelineId = pipelineIdOf(metadata);
  const at = deps.now().toISOString();
  const planned = (compiled?.jobs ?? []).map((spec, place) => ({
    jobId: JobId.parse(deterministicId(pipelineId, "job", place)),
    spec,
  }));
  const [first = [], ...rest] = partsOf(planned);
  const sealed =
    Object.keys(variables).length === 0
      ? null
      : await deps.vault.seal(projectSubject(project.id), JSON.stringify(variables));
  const within = { pipelineId, projectId: project.id, at };
  const command = {
    type: "CreatePipeline",
    ...within,
    ...origin,
    variables: sealed,
    name: compiled?.name ?? null,
    autoCancel: compiled?.autoCancel ?? "none",
    ...(compiled?.cancelOnFailure && { cancelOnFailure: true }),
    jobs: planned.length,
    failureReason,
    ...(compiled?.warnings.length && { warnings: [...compiled.warnings] }),
    planned: first,
  } as const;
  const created = await handle(deps.store, pipeline, { id: pipelineId, command, metadata });
  let from = first.length;
  for (const part of rest) {
    const more = { type: "PlanJobs", ...within, from, planned: part } as const;
    const commandId = deterministicId(metadata.commandId, "plan", from);
    const order = { id: pipelineId, command: more, metadata: { ...metadata, commandId } };
    await handle(deps.store, pipeline, order);
    from += part.length;
  }
  const numbered = await numberPipeline(deps, {
    pipelineId,
    projectId: project.id,
    jobIds: planned.map(({ jobId }) => jobId),
    createdPosition: created.position ?? 0n,
    metadata,
    turn,
  });
  return { pipelineId, jobs: planned.length, ...numbered };
}

function partsOf(jobs: readonly PlannedJob[]): readonly (readonly PlannedJob[])[] {
  const parts: PlannedJob[][] = [];
  let bytes = 0;
  for (const job of jobs) {
    const own = Buffer.byteLength(JSON.stringify(job));
    if (parts.length === 0 || bytes + own > planBytesMax) {
      parts.push([]);
      bytes = 0;
    }
    parts.at(-1)?.push(job);
    bytes += own;
  }
  return parts;
}

export type ToNumber = Readonly<{
  pipelineId: PipelineId;
  projectId: ProjectRow["id"];
  jobIds: readonly JobId[];
  /** Of the event that created the pipeline. */
  createdPosition: bigint;
  metadata: EventMetadata;
  turn?: Turn | undefined;
}>;

/** Gives a pipeline and its jobs the numbers they are known by; see docs/adr/0007-names-are-streams.md. */
export async function numberPipeline(
  { store, now }: Pick<CreateDeps, "store" | "now">,
  { pipelineId, projectId, jobIds, createdPosition, metadata, turn }: ToNumber,
): Promise<Readonly<{ localId: number; position: bigint }>> {
  const assign = (kind: "PIPELINE" | "JOB", subjectId: string, within = projectId) =>
    assignLocalId(
      { store, now: () => now().toISOString() },
      { kind, projectId: within, subjectId, createdPosition },
      metadata,
    );
  const others = await Promise.all([
    assign("PIPELINE", serviceNumberSubject(pipelineId), serviceNumberProject),
    ...jobIds.map((jobId) => assign("JOB", jobId)),
  ]);
  // Last: a pipeline is listed once it has its number, and only one without is found when this is cut off.
  await turn?.come();
  const assigning = assign("PIPELINE", pipelineId);
  // Numbers are given in the order in which they are requested.
  turn?.pass();
  const own = await assigning;
  const positions = [own, ...others].map(({ position }) => position);
  return { localId: own.localId, position: positions.reduce((a, b) => (a > b ? a : b)) };
}
