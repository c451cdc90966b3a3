import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";

import { createProject } from "../../../commands/project/create-project.ts";
import { Alias, ProjectId } from "../../../events/core/ids.ts";
import { OwnerType } from "../../../events/project/project.ts";
import { deterministicId } from "../../../platform/deterministic-id.ts";
import type { Refusal } from "../../../platform/refusal.ts";
import { findProjectById, isForkOfPrivate } from "../../../projections/project/project.ts";
import { fillFork, mustFitInFork } from "../../../services/project/fork.ts";
import { mustMayCreate, mustMayPublish } from "../../access/create-permission.ts";
import { ownerToBe } from "../../access/owner.ts";
import { mustBeFound } from "../../access/role-access.ts";
import { commandDeps } from "../../core/command-deps.ts";
import { type Route, route } from "../../core/route.ts";
import { bool, fieldRefusal } from "../../core/schema.ts";
import { OwnerAlias, Title } from "../team/field.ts";
import { listedProjects } from "./project.ts";
import { addresses, ProjectView, projectView } from "./view.ts";

/** Copying what takes longer goes on after the answer. */
const copyWaitMs = 20_000;

const fork = route({
  method: "post",
  path: "/project/{ownerAlias}/{projectAlias}/fork",
  operationId: "forkProject",
  summary: "Fork a project",
  description:
    "The fork begins with its branches and tags, and shares nothing with it. A fork of a private project is private.",
  tag: "Projects",
  scope: "PROJECT_WRITE",
  access: "project:GUEST",
  body: z
    .object({
      ownerAlias: OwnerAlias,
      ownerAliasType: OwnerType.default("USER"),
      alias: Alias.optional(),
      title: Title.optional(),
      isPrivate: bool().optional(),
    })
    .meta({ id: "ProjectFork" }),
  reply: ProjectView,
  async handle({ body, request }, deps) {
    const { project: source, userId } = request;
    const isPrivate = body.isPrivate ?? source.is_private;
    const settings = await deps.settings();
    mustMayCreate("project", request, settings);
    if (!isPrivate) mustMayPublish(request, settings);
    const hidden = source.is_private || (await isForkOfPrivate(deps.db, source));
    if (!isPrivate && hidden) throw publicOfPrivate();
    const wanted = { alias: body.ownerAlias, type: body.ownerAliasType };
    const owner = await ownerToBe(deps.db, userId, wanted);
    await mustFitInFork(deps, source.id);
    const projectId = ProjectId.parse(deterministicId(request.commandId, "project"));
    const command = {
      type: "CreateProject",
      projectId,
      ownerId: owner.id,
      ownerType: body.ownerAliasType,
      alias: body.alias ?? Alias.parse(source.alias),
      title: body.title ?? source.title,
      description: source.description,
      language: source.language,
      private: isPrivate,
      defaultBranch: source.default_branch,
      forkedFromId: source.id,
      by: userId,
      at: deps.now().toISOString(),
    } as const;
    await request.executeProcess(async (metadata) => {
      const created = await createProject(commandDeps(deps), command, metadata);
      const filling = fillFork(deps, projectId, metadata).catch((error: unknown) => {
        // The project is there; a worker will try again.
        deps.log.warn({ err: error, projectId }, "fork not filled yet");
        return undefined;
      });
      const filled = await Promise.race([filling, delay(copyWaitMs, undefined, { ref: false })]);
      return { position: filled ?? created.position };
    });
    const forked = mustBeFound(await findProjectById(deps.db, projectId), "project");
    return projectView(forked, await addresses(deps));
  },
});

export function publicOfPrivate(): Refusal {
  const message = "A fork of a private project is private.";
  return fieldRefusal("isPrivate", "fork.public_of_private", message);
}

const listForks = route({
  method: "get",
  path: "/project/{ownerAlias}/{projectAlias}/forked",
  operationId: "listProjectForks",
  summary: "List the public forks of a project",
  tag: "Projects",
  scope: "PROJECT_READ",
  access: "project:GUEST",
  list: "projectList",
  reply: ProjectView,
  handle: ({ page, request: { project } }, deps) =>
    listedProjects(deps, { forkedFrom: project.id, publicOnly: true, ...page }),
});

export const projectForkRoutes: readonly Route[] = [fork, listForks];
