import { z } from "zod";
import { mustNotBeReserved } from "../../../commands/core/reserved-alias.ts";
import { createTeam } from "../../../commands/team/change-team.ts";
import { team } from "../../../commands/team/team.ts";
import { Alias, TeamId } from "../../../events/core/ids.ts";
import { TeamOwnerType } from "../../../events/team/team.ts";
import { deterministicId } from "../../../platform/deterministic-id.ts";
import { invariant } from "../../../platform/invariant.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { owns } from "../../../projections/team/owner.ts";
import { findTeamById, listTeams, teamProjection } from "../../../projections/team/team.ts";
import { mustMayCreate } from "../../access/create-permission.ts";
import { ownerToBe } from "../../access/owner.ts";
import { teamScope } from "../../access/owner-scope.ts";
import { commandDeps, stampOf } from "../../core/command-deps.ts";
import type { Deps } from "../../core/deps.ts";
import { type Route, route } from "../../core/route.ts";
import { bool } from "../../core/schema.ts";
import { changeFields, changeHolder, deleteHolder, listRoutes } from "./alias-holder.ts";
import { changed, Description, OwnerAlias, Title } from "./field.ts";
import { pendingTransfer } from "./pending-transfer.ts";
import { TeamView, teamView } from "./view.ts";

const tag = "Teams";

const NewTeam = z
  .object({
    title: Title,
    alias: Alias,
    isPrivate: bool().default(true),
    ownerAlias: OwnerAlias,
    ownerAliasType: TeamOwnerType.default("USER"),
    description: Description.nullish(),
  })
  .meta({ id: "NewTeam" });

const postTeam = route({
  method: "post",
  path: "/team",
  operationId: "createTeam",
  summary: "Create a team",
  description: "For the caller, or for a company in which the caller is an ADMIN.",
  tag,
  scope: "TEAM_WRITE",
  access: "user",
  body: NewTeam,
  reply: TeamView,
  errors: [404],
  async handle({ body, request }, deps) {
    mustMayCreate("team", request, await deps.settings());
    mustNotBeReserved(body.alias);
    const owner = await ownerToBe(deps.db, request.userId, {
      alias: body.ownerAlias,
      type: body.ownerAliasType,
    });
    const teamId = TeamId.parse(deterministicId(request.commandId, "team"));
    const command = {
      type: "CreateTeam",
      teamId,
      ownerId: owner.id,
      ownerType: body.ownerAliasType,
      alias: body.alias,
      details: {
        title: body.title,
        description: body.description ?? null,
        private: body.isPrivate,
        avatar: null,
      },
      ...stampOf(request, deps),
    } as const;
    await request.executeProcess((metadata) => createTeam(commandDeps(deps), command, metadata));
    return findView(deps, teamId);
  },
});

async function findView({ db }: Pick<Deps, "db">, id: string) {
  const row = await findTeamById(db, id);
  invariant(row !== undefined, "a team that was just changed is visible");
  return teamView(row);
}

const lists = listRoutes({
  ownerScope: teamScope,
  plural: "Teams",
  list: "teamList",
  view: TeamView,
  viewOf: teamView,
  find: listTeams,
  own: { description: "Those of the user's companies too." },
});

const getTeam = route({
  method: "get",
  path: "/team/{teamAlias}",
  operationId: "getTeam",
  summary: "Get a team",
  tag,
  scope: "TEAM_READ",
  access: "team:GUEST",
  asOf: { readModels: [teamProjection], again: findTeamById },
  reply: TeamView,
  handle: async ({ request: { team, role } }, deps) => ({
    ...teamView(team),
    ...(await pendingTransfer(team.id, role, deps)),
  }),
});

const TeamChange = z
  .object(changeFields)
  .meta({ id: "TeamChange", description: "What is not given stays as it is." });

const changing = {
  path: "/team/{teamAlias}",
  tag,
  scope: "TEAM_WRITE",
  access: "team:ADMIN",
} as const;

const putTeam = route({
  ...changing,
  method: "put",
  operationId: "changeTeam",
  summary: "Change a team",
  body: TeamChange,
  reply: TeamView,
  async handle({ body: { alias, ...rest }, request }, deps) {
    const { team: row } = request;
    await changeHolder(team, row, { alias, details: changed(rest) }, request, deps);
    return findView(deps, row.id);
  },
});

const removeTeam = route({
  ...changing,
  method: "delete",
  operationId: "deleteTeam",
  summary: "Delete a team",
  description: "Its projects must have been deleted or transferred before.",
  reply: "empty",
  async handle({ request }, deps) {
    const { id } = request.team;
    if (await owns(deps.db, id)) {
      const message = "The team still has projects.";
      throw new Refusal("unprocessable", "team.not_empty", message);
    }
    await deleteHolder(team, id, request, deps);
  },
});

export const teamRoutes: readonly Route[] = [postTeam, ...lists, getTeam, putTeam, removeTeam];
