import { z } from "zod";

import { handle } from "../../../commands/core/handle.ts";
import { changeProjectAlias, transferProject } from "../../../commands/project/change-project.ts";
import { project } from "../../../commands/project/project.ts";
import { Alias, type UserId } from "../../../events/core/ids.ts";
import { OwnerType, type ProjectDetails } from "../../../events/project/project.ts";
import { branchPrefix } from "../../../events/repository/repository.ts";
import { Refusal } from "../../../platform/refusal.ts";
import {
  findProjectById,
  isForkOfPrivate,
  type ProjectRow,
} from "../../../projections/project/project.ts";
import { mustMayPublish } from "../../access/create-permission.ts";
import { mayCreateFor, ownerNamed } from "../../access/owner.ts";
import { mustBeFound } from "../../access/role-access.ts";
import { commandDeps, stampOf } from "../../core/command-deps.ts";
import type { Deps } from "../../core/deps.ts";
import type { RequestContext } from "../../core/request.ts";
import { type Route, route } from "../../core/route.ts";
import { bool, nameLengthMax } from "../../core/schema.ts";
import { Description, Link, Title } from "../team/field.ts";
import { pendingTransfer } from "../team/pending-transfer.ts";
import {
  actsAsAdministrator,
  mustMayTransfer,
  needsConsent,
  offerTransfer,
  withdrawAfter,
  withdrawTransfer,
} from "../team/transfer-offer.ts";
import { publicOfPrivate } from "./fork.ts";
import { addresses, ProjectView, projectView } from "./view.ts";

const setting = {
  method: "put",
  tag: "Projects",
  scope: "PROJECT_EDIT",
  access: "project:ADMIN",
  reply: ProjectView,
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
    const command = { type: "ChangeProjectDetails", details, ...stampOf(request, deps) } as const;
    await request.execute(project, request.project.id, command);
    return findView(request, deps);
  },
});

const changeVisibility = route({
  ...setting,
  path: "/project/{ownerAlias}/{projectAlias}/setting/visibility",
  operationId: "changeProjectVisibility",
  summary: "Make a project private or public",
  description: "A fork of a private project stays private while that project is.",
  body: z.object({ isPrivate: bool() }).meta({ id: "ProjectVisibility" }),
  async handle({ body, request }, deps) {
    if (!body.isPrivate) {
      mustMayPublish(request, await deps.settings());
      if (await isForkOfPrivate(deps.db, request.project)) throw publicOfPrivate();
    }
    const command = {
      type: "ChangeProjectVisibility",
      private: body.isPrivate,
      ...stampOf(request, deps),
    } as const;
    await request.execute(project, request.project.id, command);
    return findView(request, deps);
  },
});

const changeDefaultBranch = route({
  ...setting,
  path: "/project/{ownerAlias}/{projectAlias}/setting/default-branch",
  operationId: "changeDefaultBranch",
  summary: "Change the branch that a clone checks out",
  body: z.object({ branchName: z.string().min(1).max(255) }).meta({ id: "DefaultBranch" }),
  async handle({ body: { branchName: branch }, request }, deps) {
    const { id } = request.project;
    const ref = branchPrefix + branch;
    const repository = await deps.git.find(id);
    // All refs, not the one: a name from outside is no argument to git before it is known to exist.
    if (repository === undefined || !(await repository.refs()).has(ref)) {
      throw new Refusal("not_found", "branch.not_found", "There is no such branch.");
    }
    const { at } = stampOf(request, deps);
    const command = { type: "ChangeDefaultBranch", branch, at } as const;
    await request.executeProcess(async (metadata) => {
      await repository.setHead(branch);
      return handle(deps.store, project, { id, command, metadata });
    });
    return findView(request, deps);
  },
});

const changeAlias = route({
  ...setting,
  path: "/project/{ownerAlias}/{projectAlias}/setting/alias",
  operationId: "changeProjectAlias",
  summary: "Change the alias of a project",
  description: "Its old address answers 404 from then on.",
  body: z.object({ alias: Alias }).meta({ id: "ProjectAlias" }),
  errors: [409],
  async handle({ body: { alias }, request }, deps) {
    const { id, owner_id: ownerId } = request.project;
    const stamp = stampOf(request, deps);
    const command = { type: "ChangeProjectAlias", alias, ownerId, ...stamp } as const;
    await request.executeProcess((metadata) =>
      changeProjectAlias(commandDeps(deps), { id, metadata }, command),
    );
    return findView(request, deps);
  },
});

const transfer = route({
  ...setting,
  method: "post",
  path: "/project/{ownerAlias}/{projectAlias}/transfer",
  operationId: "transferProject",
  summary: "Give a project to another owner",
  description:
    "For its owner: the user, or an ADMIN of the owning team or company. To another user it is an offer, " +
    "in force when they accept; to a team or company, the caller must be an ADMIN there. Transferring to the " +
    "present owner withdraws an offer. Administrators of the instance transfer everything, without consent.",
  orAdministrator: true,
  body: z
    .object({ ownerAlias: z.string().min(1).max(nameLengthMax), ownerAliasType: OwnerType })
    .meta({ id: "ProjectTransfer" }),
  async handle({ body, request }, deps) {
    const owner = await ownerNamed(deps.db, { alias: body.ownerAlias, type: body.ownerAliasType });
    const { id, owner_id: ownerId, owner_alias: ownerAlias } = request.project;
    const thing = { id, type: "PROJECT", ownerId, ownerAlias } as const;
    await mustMayTransfer(thing, request, deps);
    if (owner.id === ownerId) {
      await withdrawTransfer(id, request, deps);
      return findView(request, deps);
    }
    if (needsConsent(owner, request)) {
      await offerTransfer(thing, owner, request, deps);
      return { ...(await findView(request, deps)), ...(await pendingTransfer(id, "ADMIN", deps)) };
    }
    const byRight =
      actsAsAdministrator(request) || (await mayCreateFor(deps.db, owner, request.userId));
    if (!byRight) {
      const message = "You may not create projects for that owner.";
      throw new Refusal("forbidden", "owner.forbidden", message);
    }
    const command = {
      type: "TransferProject",
      ownerId: owner.id,
      ownerType: owner.type,
      alias: Alias.parse(request.project.alias),
      ...stampOf(request, deps),
    } as const;
    await request.executeProcess(async (metadata) => {
      const order = { id, metadata };
      const transferred = await transferProject(commandDeps(deps), order, command);
      return withdrawAfter(transferred, order, request, deps);
    });
    return findView(request, deps);
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

async function findView(request: AtProject, deps: Deps) {
  return projectView(
    mustBeFound(await findProjectById(deps.db, request.project.id), "project"),
    await addresses(deps),
  );
}
