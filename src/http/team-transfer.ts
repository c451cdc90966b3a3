import { z } from "zod";

import { transferTeam as transfer } from "../commands/process/team.ts";
import { Refusal } from "../platform/refusal.ts";
import { teamRole } from "../projections/member-role.ts";
import { findOwner, type OwnerRow } from "../projections/owner.ts";
import { findTeam, findTeamById, type TeamRow } from "../projections/team.ts";
import { commandDeps } from "./command-deps.ts";
import { mustBeFound, mustSuffice } from "./role-access.ts";
import { route } from "./route.ts";
import { presentTeam, TeamView } from "./team-view.ts";

export const transferTeam = route({
  method: "post",
  path: "/team/transfer",
  operationId: "transferTeam",
  summary: "Give a team to another owner",
  description:
    "The caller must be an ADMIN of the team; to give it to a company, the team must belong to the company's owner.",
  tag: "Teams",
  scope: "TEAM_WRITE",
  access: "user",
  body: z
    .object({ teamAlias: z.string().min(1), ownerAlias: z.string().min(1) })
    .meta({ id: "TeamTransfer" }),
  reply: TeamView,
  errors: [403, 404, 422],
  async handle({ body, request }, deps) {
    const { db, now } = deps;
    const row = mustBeFound(await findTeam(db, body.teamAlias), "team");
    mustSuffice(await teamRole(db, row, request.userId), { resource: "team", role: "ADMIN" });
    const owner = await newOwner(await findOwner(db, body.ownerAlias), row);
    const command = {
      type: "TransferTeam",
      ...owner,
      by: request.userId,
      at: now().toISOString(),
    } as const;
    const metadata = await request.metadata();
    const result = await transfer(commandDeps(deps), row.id, command, metadata);
    await request.visible(result.position);
    return presentTeam(mustBeFound(await findTeamById(db, row.id), "team"));
  },
});

async function newOwner(owner: OwnerRow | undefined, { owner_user_id }: TeamRow) {
  if (owner === undefined || owner.type === "TEAM") {
    throw new Refusal("not_found", "owner.not_found", "There is no such user or company.");
  }
  if (owner.type === "COMPANY" && owner.user_id !== owner_user_id) {
    const message = "A team goes only to a company of the team's own owner.";
    throw new Refusal("forbidden", "owner.forbidden", message);
  }
  return { ownerId: owner.id, ownerType: owner.type };
}
