import { z } from "zod";

import { handle } from "../commands/handle.ts";
import { changeProjectAlias, transferProject } from "../commands/process/change-project.ts";
import { project } from "../commands/project.ts";
import type { EventMetadata } from "../events/event.ts";
import { Alias, type UserId } from "../events/ids.ts";
import { OwnerType, type ProjectDetails } from "../events/project.ts";
import { branchPrefix } from "../events/repository.ts";
import { Refusal } from "../platform/refusal.ts";
import { findProjectById, type ProjectRow } from "../projections/project.ts";
import { commandDeps } from "./command-deps.ts";
import { mustMayPublish } from "./create-permission.ts";
import type { Deps } from "./deps.ts";
import { mayCreateFor, ownerNamed } from "./owner.ts";
import { projectPlace } from "./parent.ts";
import { addresses, ProjectView, presentProject } from "./project-view.ts";
import type { RequestContext } from "./request.ts";
import { mustBeFound } from "./role-access.ts";
import { type Route, route } from "./route.ts";
import { bool } from "./schema.ts";
import { Description, Link, Title } from "./team.ts";

const setting = {
  method: "put",
  tag: "Projects",
  scope: "PROJECT_EDIT",
  access: "project:ADMIN",
  params: projectPlace.params,
  reply: ProjectView,
  errors: [403, 404, 422],
} as const;

const topicsMax = 50;
const Topic = z.string().trim().min(1).max(64);

const changeSettings = route({
  ...setting,
  path: "/project/{ownerAlias}/{projectAlias}/setting/change-setting",
  operationId: "changeProjectSettings",
  summary: "Change what a project says about itself",
  body: z
    .object({
      title: Title.optional(),
      description: Description.nullish(),
      language: z.string().trim().max(64).nullish(),
      topics: z.array(Topic).max(topicsMax).nullish(),
      siteUrl: Link.nullish(),
    })
    .meta({ id: "ProjectSettings", description: "What is not given stays as it is." }),
  async handle({ body, request }, deps) {
    const { title, description, language, topics, siteUrl } = body;
    const details: Partial<ProjectDetails> = {
      ...(title === undefined ? {} : { title }),
      ...(description === undefined ? {} : { description: description || null }),
      ...(language === undefined ? {} : { language: language || null }),
      ...(topics === undefined ? {} : { topics: [...new Set(topics ?? [])] }),
      ...(siteUrl === undefined ? {} : { siteUrl: siteUrl || null }),
    };
    const change = await changeOf(request, deps);
    const command = { type: "ChangeProjectDetails", details, ...change.stamp } as const;
    const result = await handle(deps.store, project, { ...change, command });
    return shownAfter(result.position, request, deps);
  },
});

const changeVisibility = route({
  ...setting,
  path: "/project/{ownerAlias}/{projectAlias}/setting/visibility",
  operationId: "changeProjectVisibility",
  summary: "Make a project private or public",
  body: z.object({ isPrivate: bool() }).meta({ id: "ProjectVisibility" }),
  async handle({ body, request }, deps) {
    if (!body.isPrivate) mustMayPublish(request, await deps.settings());
    const change = await changeOf(request, deps);
    const command = {
      type: "ChangeProjectVisibility",
      private: body.isPrivate,
      ...change.stamp,
    } as const;
    const result = await handle(deps.store, project, { ...change, command });
    return shownAfter(result.position, request, deps);
  },
});

const changeDefaultBranch = route({
  ...setting,
  path: "/project/{ownerAlias}/{projectAlias}/setting/default-branch",
  operationId: "changeDefaultBranch",
  summary: "Change the branch that a clone checks out",
  body: z.object({ branchName: z.string().min(1).max(255) }).meta({ id: "DefaultBranch" }),
  async handle({ body: { branchName: branch }, request }, deps) {
    const change = await changeOf(request, deps);
    const ref = branchPrefix + branch;
    const repository = await deps.git.find(change.id);
    // All refs, not the one: a name from outside is no argument to git before it is known to exist.
    if (repository === undefined || !(await repository.refs()).has(ref)) {
      throw new Refusal("not_found", "branch.not_found", "There is no such branch.");
    }
    await repository.setHead(branch);
    const { at } = change.stamp;
    const command = { type: "ChangeDefaultBranch", branch, at } as const;
    const result = await handle(deps.store, project, { ...change, command });
    return shownAfter(result.position, request, deps);
  },
});

const changeAlias = route({
  ...setting,
  path: "/project/{ownerAlias}/{projectAlias}/setting/alias",
  operationId: "changeProjectAlias",
  summary: "Change the alias of a project",
  description: "Its old address answers 404 from then on.",
  body: z.object({ alias: Alias }).meta({ id: "ProjectAlias" }),
  errors: [403, 404, 409, 422],
  async handle({ body: { alias }, request }, deps) {
    const change = await changeOf(request, deps);
    const ownerId = request.project.owner_id;
    const command = { type: "ChangeProjectAlias", alias, ownerId, ...change.stamp } as const;
    const result = await changeProjectAlias(commandDeps(deps), change, command);
    return shownAfter(result.position, request, deps);
  },
});

const transfer = route({
  ...setting,
  method: "post",
  path: "/project/{ownerAlias}/{projectAlias}/transfer",
  operationId: "transferProject",
  summary: "Give a project to another owner",
  description: "To a user, or to a team or company in which the caller is an ADMIN.",
  body: z
    .object({ ownerAlias: z.string().min(1), ownerAliasType: OwnerType })
    .meta({ id: "ProjectTransfer" }),
  errors: [403, 404, 409, 422],
  async handle({ body, request }, deps) {
    const owner = await ownerNamed(deps.db, { alias: body.ownerAlias, type: body.ownerAliasType });
    if (owner.type !== "USER" && !(await mayCreateFor(deps.db, owner, request.userId))) {
      const message = "You may not create projects for that owner.";
      throw new Refusal("forbidden", "owner.forbidden", message);
    }
    const change = await changeOf(request, deps);
    const command = {
      type: "TransferProject",
      ownerId: owner.id,
      ownerType: owner.type,
      alias: Alias.parse(request.project.alias),
      ...change.stamp,
    } as const;
    const result = await transferProject(commandDeps(deps), change, command);
    return shownAfter(result.position, request, deps);
  },
});

export const projectSettingRoutes: readonly Route[] = [
  changeAlias,
  changeDefaultBranch,
  changeSettings,
  changeVisibility,
  transfer,
];

type AtProject = RequestContext & Readonly<{ project: ProjectRow; userId: UserId }>;
type Change = Readonly<{
  id: string;
  metadata: EventMetadata;
  stamp: Readonly<{ by: UserId; at: string }>;
}>;

async function changeOf(request: AtProject, { now }: Deps): Promise<Change> {
  const stamp = { by: request.userId, at: now().toISOString() };
  return { id: request.project.id, metadata: await request.metadata(), stamp };
}

async function shownAfter(position: bigint | undefined, request: AtProject, deps: Deps) {
  await request.visible(position);
  return presentProject(
    mustBeFound(await findProjectById(deps.db, request.project.id), "project"),
    await addresses(deps),
  );
}
