import { z } from "zod";
import {
  createRelease,
  deleteRelease,
  editRelease,
} from "../../../commands/release/change-release.ts";
import { releaseNotFound } from "../../../commands/release/release.ts";
import { ObjectId, ReleaseId } from "../../../events/core/ids.ts";
import { TagName } from "../../../git/name.ts";
import { deterministicId } from "../../../platform/deterministic-id.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { pipelineOfJobToken } from "../../../projections/agent/job-token.ts";
import {
  findLatestRelease,
  findRelease,
  listReleases,
  releaseProjection,
} from "../../../projections/release/release.ts";
import { findRef } from "../../../projections/repository/git-ref.ts";
import { tokenNeeded } from "../../access/authenticate.ts";
import { commandDeps, projectStampOf } from "../../core/command-deps.ts";
import type { Deps } from "../../core/deps.ts";
import { oneInProject } from "../../core/one-below.ts";
import { listed } from "../../core/paging.ts";
import type { RequestFor } from "../../core/request.ts";
import { type Route, route } from "../../core/route.ts";
import { bool, nameLengthMax, oneLine } from "../../core/schema.ts";
import { mustFindCommit, revisionText } from "../repository/revision.ts";
import { makeTag, type NewTag } from "../repository/tag-change.ts";
import { ReleaseView, releaseView } from "./view.ts";

const tag = "Releases";
const path = "/project/{ownerAlias}/{projectAlias}/release";

const reading = { tag, scope: "PROJECT_READ", access: "project:GUEST", forJobs: true } as const;
export const writing = { tag, scope: "PROJECT_WRITE", access: "project:DEVELOPER" } as const;

const tagsOfJobs =
  "With the token of a job it is made on the commit of the job's pipeline; the pipeline of a tag makes none.";

const Details = z.object({
  title: oneLine(255),
  description: z.string().max(100_000).nullish(),
  tagName: TagName.meta({ examples: ["v1.0"] }),
  preRelease: bool().default(false),
});

const NewRelease = Details.extend({
  branchName: z
    .string()
    .max(nameLengthMax)
    .nullish()
    .meta({
      description:
        "Where it stands a tag is made when there is none; the default branch's end else.",
      examples: [""],
    }),
  commitId: z
    .string()
    .max(nameLengthMax)
    .nullish()
    .meta({ description: `The commit a tag is made on instead. ${revisionText}`, examples: [""] }),
}).meta({ id: "NewRelease" });

const EditedRelease = Details.partial()
  .extend({ preRelease: bool().optional() })
  .meta({ id: "EditedRelease" });

const getReleases = route({
  ...reading,
  method: "get",
  path,
  operationId: "listReleases",
  summary: "List the releases",
  description: "Newest first.",
  query: z.object({ tagName: z.string().max(nameLengthMax).optional() }),
  list: "releaseTagModelList",
  asOf: { readModels: [releaseProjection] },
  reply: ReleaseView,
  handle({ query: { tagName }, page, request: { project } }, deps) {
    const found = listReleases(deps.db, project.id, { ...page, tagName });
    return listed(found, (row) => releaseView(row, project, deps));
  },
});

const getLatestRelease = route({
  ...reading,
  method: "get",
  path: `${path}/latest`,
  operationId: "getLatestRelease",
  summary: "Get the latest release",
  description: "A pre-release only when there is nothing else.",
  asOf: { readModels: [releaseProjection] },
  reply: ReleaseView,
  async handle({ request: { project } }, deps) {
    const row = await findLatestRelease(deps.db, project.id);
    if (row === undefined) throw releaseNotFound();
    return releaseView(row, project, deps);
  },
});

const getRelease = route({
  ...reading,
  method: "get",
  path: `${path}/{releaseUuid}`,
  operationId: "getRelease",
  summary: "Get a release",
  asOf: { readModels: [releaseProjection] },
  reply: ReleaseView,
  handle: ({ params, request }, deps) => findView(params.releaseUuid, request, deps),
});

const postRelease = route({
  ...writing,
  method: "post",
  path,
  operationId: "createRelease",
  forJobs: true,
  summary: "Create a release",
  description: `Its tag is made with it when there is none of that name. ${tagsOfJobs}`,
  body: NewRelease,
  reply: ReleaseView,
  async handle({ body: { branchName, commitId, ...details }, request }, deps) {
    const { tagName } = details;
    const releaseId = ReleaseId.parse(deterministicId(request.commandId, "release"));
    const command = {
      type: "CreateRelease",
      releaseId,
      ...details,
      description: details.description ?? null,
      commitId: await tagged({ tagName, branchName, commitId }, request, deps),
      ...projectStampOf(request, deps),
    } as const;
    await request.executeProcess((metadata) =>
      createRelease(commandDeps(deps), { id: releaseId, metadata }, command),
    );
    return findView(releaseId, request, deps);
  },
});

const putRelease = route({
  ...writing,
  method: "put",
  path: `${path}/{releaseUuid}`,
  operationId: "editRelease",
  forJobs: true,
  summary: "Edit a release",
  description: `What is left out stays. A tag that is not there is made on the default branch. ${tagsOfJobs}`,
  body: EditedRelease,
  reply: ReleaseView,
  errors: [409],
  async handle({ params: { releaseUuid }, body, request }, deps) {
    const row = await mustFindRelease(deps, request, releaseUuid);
    const tagName = body.tagName ?? TagName.parse(row.tag_name);
    const details = {
      title: body.title ?? row.title,
      description: body.description === undefined ? row.description : body.description,
      tagName,
      preRelease: body.preRelease ?? row.pre_release,
    };
    const moved = tagName !== row.tag_name;
    const commitId = moved ? await tagged({ tagName }, request, deps) : asObjectId(row.commit_id);
    const command = {
      type: "EditRelease",
      details,
      commitId,
      ...projectStampOf(request, deps),
    } as const;
    await request.executeProcess((metadata) =>
      editRelease(commandDeps(deps), { id: releaseUuid, metadata }, command),
    );
    return findView(releaseUuid, request, deps);
  },
});

const removeRelease = route({
  ...writing,
  method: "delete",
  path: `${path}/{releaseUuid}`,
  operationId: "deleteRelease",
  summary: "Delete a release and its files",
  description: "The tag stays.",
  reply: "empty",
  async handle({ params: { releaseUuid }, request }, deps) {
    await mustFindRelease(deps, request, releaseUuid);
    const command = { type: "DeleteRelease", ...projectStampOf(request, deps) } as const;
    await request.executeProcess((metadata) =>
      deleteRelease(commandDeps(deps), { id: releaseUuid, metadata }, command),
    );
  },
});

export const releaseRoutes: readonly Route[] = [
  getLatestRelease,
  getRelease,
  getReleases,
  postRelease,
  putRelease,
  removeRelease,
];

type Reading = Pick<RequestFor<"project:GUEST">, "project">;
type Writing = RequestFor<"project:DEVELOPER">;

/** @throws Refusal not_found, also for a release of another project */
export const mustFindRelease = oneInProject(findRelease, releaseNotFound);

export async function findView(id: string, request: Reading, deps: Deps) {
  return releaseView(await mustFindRelease(deps, request, id), request.project, deps);
}

/**
 * Where the tag stands, which is made if there is none; null for a tag of a tree or a blob.
 *
 * @throws Refusal 422 `tag.exists` when it stands elsewhere than wanted; what `makeTag` throws
 */
async function tagged(wanted: NewTag, request: Writing, deps: Deps): Promise<ObjectId | null> {
  const there = await findRef(deps.db, request.project.id, "tag", wanted.tagName);
  // The release is made at once after its tag, so that a slow read model never leaves one without the other.
  if (there === undefined) {
    const allowed = await allowedTag(wanted, request, deps);
    return asObjectId((await makeTag(allowed, request, deps)).commitId);
  }
  if (wanted.commitId && (await commitIdOf(wanted.commitId, request, deps)) !== there.commit_id) {
    throw new Refusal("unprocessable", "tag.exists", "The tag is at another commit.");
  }
  return asObjectId(there.commit_id);
}

/**
 * The tag that may be made: a job makes one on the commit of its pipeline only. In the pipeline of a tag
 * another tag would start its own pipeline, which would do the same.
 *
 * @throws Refusal 403 `auth.token_invalid` once the run is over, 422 `release.no_tag`, `release.job_commit`
 */
async function allowedTag(wanted: NewTag, request: Writing, deps: Deps): Promise<NewTag> {
  if (request.job === undefined) return wanted;
  const pipeline = await pipelineOfJobToken(deps.db, request.job.tokenHash);
  if (pipeline === undefined) throw tokenNeeded();
  if (pipeline.is_tag) {
    const message = "The pipeline of a tag makes no other tag.";
    throw new Refusal("unprocessable", "release.no_tag", message);
  }
  const { commit_id: commitId } = pipeline;
  if (wanted.commitId && (await commitIdOf(wanted.commitId, request, deps)) !== commitId) {
    const message = "A job makes a tag on the commit of its pipeline only.";
    throw new Refusal("unprocessable", "release.job_commit", message);
  }
  return { ...wanted, commitId };
}

const commitIdOf = async (name: string, { project }: Writing, deps: Deps): Promise<string> =>
  (await mustFindCommit(deps, project, name)).commit.id;

const asObjectId = (id: string | null): ObjectId | null =>
  id === null ? null : ObjectId.parse(id);
