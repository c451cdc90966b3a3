import { createRelease } from "../../commands/release/change-release.ts";
import type { EventMetadata } from "../../events/core/event.ts";
import { ObjectId, ReleaseId, type UserId } from "../../events/core/ids.ts";
import { bySystem } from "../../events/core/system.ts";
import type { JobSpec } from "../../events/pipeline/job-spec.ts";
import { tagPrefix } from "../../events/repository/repository.ts";
import { TagName } from "../../git/name.ts";
import { writeObjects } from "../../git/object/pack-writer.ts";
import { newTag } from "../../git/object/writer.ts";
import type { Repository } from "../../git/repository.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { Refusal } from "../../platform/refusal.ts";
import { storableText } from "../../platform/storable-text.ts";
import { findJobSpec } from "../../projections/pipeline/query.ts";
import type { JobRow } from "../../projections/pipeline/table.ts";
import { reaches } from "../../projections/protection/applicable.ts";
import { findRef } from "../../projections/repository/git-ref.ts";
import { projectRole } from "../../projections/team/member-role.ts";
import { accountIdent } from "../../projections/user/commit-author.ts";
import { findUserById } from "../../projections/user/user.ts";
import { changeRefs, type RefChangeDeps } from "../git/ref-change.ts";
import { expansionOf } from "./downstream-variable.ts";
import { commitNamed, readFile } from "./facts.ts";
import { actorOfJob, findJobRun, type JobRun, type VariableDeps } from "./job-run.ts";

export type JobReleaseDeps = VariableDeps & RefChangeDeps;

/** What is said of it at the end of the log; undefined for a job that makes no release. */
export type JobReleased = Readonly<{ isCreated: boolean; line: string }> | undefined;

const titleLengthMax = 255;
const descriptionLengthMax = 100_000;
/** Of the file that a description is read from. */
const descriptionFileBytesMax = 1024 ** 2;

/**
 * Creates the release that the file defines when the script of a job has succeeded, and its tag where there
 * is none: with the rights of the user the job acts for. May be repeated for the same run of the job. The
 * description may be the path of a file of the commit.
 *
 * @throws Refusal of the kind `unavailable`, StoreUnavailable: the same call may be repeated
 */
export async function releaseByJob(
  deps: JobReleaseDeps,
  job: JobRow,
  token: string,
): Promise<JobReleased> {
  // Most jobs create none, which their plan shows.
  const spec = await findJobSpec(deps.db, job.id);
  if (!spec?.release) return undefined;
  const run = await findJobRun(deps, job, { spec });
  if (run === undefined) return undefined;
  try {
    const tagName = await release(deps, run, spec.release, token);
    return { isCreated: true, line: `Release of the tag ${tagName} created.` };
  } catch (error) {
    if (!(error instanceof Refusal) || error.kind === "unavailable") throw error;
    return { isCreated: false, line: `The release was not created: ${error.message}` };
  }
}

async function release(
  deps: JobReleaseDeps,
  run: JobRun,
  wanted: NonNullable<JobSpec["release"]>,
  token: string,
): Promise<string> {
  const { job, project } = run;
  const repository = await deps.git.find(project.id);
  if (repository === undefined) throw refused("release.no_repository", "The project is empty.");
  const by = await maker(deps, run);
  const fill = await filler(run, token);
  const tag = TagName.safeParse(fill(wanted.tagName).trim());
  if (!tag.success) throw refused("release.tag_name", "Its tag_name is no name of a tag.");
  const at = deps.now().toISOString();
  const step = deterministicId("release of job", job.id, job.attempt);
  const asJob: EventMetadata["actor"] = { ...by, via: "job", tokenId: null };
  const metadata = { ...bySystem({ commandId: step }, at), actor: asJob };
  const ordered = { repository, tagName: tag.data, ref: fill(wanted.ref ?? "").trim() };
  const message = fill(wanted.tagMessage ?? "");
  const commitId = await tagged(deps, run, { ...ordered, message, metadata });
  const title = fill(wanted.name ?? "").trim() || tag.data;
  const command = {
    type: "CreateRelease",
    releaseId: ReleaseId.parse(deterministicId(step, "release")),
    projectId: project.id,
    title: title.slice(0, titleLengthMax),
    description: await description(run, repository, wanted, fill),
    tagName: tag.data,
    preRelease: false,
    commitId,
    by: by.userId,
    at,
  } as const;
  const change = { id: command.releaseId, metadata };
  const { position } = await createRelease({ store: deps.store, now: () => at }, change, command);
  await deps.visible(position);
  return tag.data;
}

type Maker = Readonly<{ userId: UserId; alias: string }>;

/** @throws Refusal for whom the job acts may not make releases, or is gone */
async function maker({ db }: JobReleaseDeps, { job, pipeline, project }: JobRun): Promise<Maker> {
  const userId = actorOfJob(job, pipeline);
  const user = userId === null ? undefined : await findUserById(db, userId);
  const isGone = user === undefined || user.banned_at !== null || user.forgotten_at !== null;
  const role = isGone ? undefined : await projectRole(db, project, userId);
  if (isGone || userId === null || role === undefined || !reaches(role, "DEVELOPER")) {
    throw refused("release.no_right", "Who started the job may not make releases.");
  }
  return { userId, alias: user.alias };
}

/** Fills in the variables of the job. What may not stand in its log stands in no release either. */
async function filler(run: JobRun, token: string): Promise<(text: string) => string> {
  const expand = await expansionOf(run, token);
  return (text) => storableText(expand(text));
}

type ToTag = Readonly<{
  repository: Repository;
  tagName: TagName;
  /** Where the tag is made; empty for the commit of the pipeline. */
  ref: string;
  message: string;
  metadata: EventMetadata;
}>;

/** Where the tag stands, which is made if there is none; null for a tag of a tree or a blob. */
async function tagged(
  deps: JobReleaseDeps,
  { job, pipeline, project }: JobRun,
  { repository, tagName, ref, message, metadata }: ToTag,
): Promise<ObjectId | null> {
  const there = await findRef(deps.db, project.id, "tag", tagName);
  if (there !== undefined) return ObjectId.nullable().parse(there.commit_id);
  // A pipeline of a tag that made another one would start its own pipeline, which would do the same.
  if (pipeline.is_tag) throw refused("release.no_tag", "The pipeline of a tag makes no other tag.");
  const commitId = ref === "" ? pipeline.commit_id : await commitNamed(repository, ref);
  if (commitId === undefined) throw refused("release.ref", `There is no commit "${ref}".`);
  const role = await projectRole(deps.db, project, metadata.actor.userId);
  if (role === undefined) throw refused("release.no_right", "The project is out of sight.");
  const plan = async () => {
    if (message.trim() === "") return [{ ref: tagPrefix + tagName, before: null, after: commitId }];
    const tagger = await accountIdent(deps.db, metadata.actor.userId ?? "");
    const tag = newTag({ name: tagName, commitId, tagger, at: job.created_at, message });
    await writeObjects(repository, [tag]);
    return [{ ref: tagPrefix + tagName, before: null, after: tag.id }];
  };
  const order = { project, role, metadata, plan };
  await deps.visible((await changeRefs(deps, order)).position);
  return ObjectId.parse(commitId);
}

async function description(
  { pipeline }: JobRun,
  repository: Repository,
  { description: written, links = [] }: NonNullable<JobSpec["release"]>,
  fill: (text: string) => string,
): Promise<string> {
  const text = fill(written);
  const path = text.trim().replace(/^\.\//, "");
  const isPath = path !== "" && path.length <= titleLengthMax && !/[\n\0]/.test(path);
  const file = isPath
    ? await readFile(repository, pipeline.commit_id, path, descriptionFileBytesMax)
    : undefined;
  const list = links.map(({ name, url }) => linkLine(fill(name), fill(url)));
  const whole = [
    storableText(typeof file === "string" ? file : text),
    ...(list.length > 0 ? [list.join("\n")] : []),
  ];
  return whole.join("\n\n").slice(0, descriptionLengthMax);
}

/** A line of Markdown. @throws Refusal for an address that browsers do not open as a page */
function linkLine(name: string, url: string): string {
  if (!URL.canParse(url) || !/^(?:https?|ftp):$/.test(new URL(url).protocol)) {
    throw refused("release.link", `The link "${name}" has no address of the web.`);
  }
  return `- [${name.replaceAll(/[[\]\\\n]/g, " ")}](<${new URL(url).href}>)`;
}

const refused = (code: string, message: string): Refusal =>
  new Refusal("unprocessable", code, message);
