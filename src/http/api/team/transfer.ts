import { z } from "zod";

import { transferTeam as transfer } from "../../../commands/team/change-team.ts";
import type { TeamOwnerType } from "../../../events/team/team.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { teamRole } from "../../../projections/team/member-role.ts";
import { findOwner, type OwnerRow } from "../../../projections/team/owner.ts";
import { findTeam, findTeamById, type TeamRow } from "../../../projections/team/team.ts";
import { mustBeFound, mustSuffice } from "../../access/role-access.ts";
import { commandDeps, stampOf } from "../../core/command-deps.ts";
import type { RequestContext } from "../../core/request.ts";
import { type Route, route } from "../../core/route.ts";
import { nameLengthMax } from "../../core/schema.ts";
import { pendingTransfer } from "./pending-transfer.ts";
import {
  actsAsAdministrator,
  mustMayTransfer,
  needsConsent,
  offerTransfer,
  withdrawAfter,
  withdrawTransfer,
} from "./transfer-offer.ts";
import { TeamView, teamView } from "./view.ts";

const transferTeam = route({
  method: "post",
  path: "/team/transfer",
  operationId: "transferTeam",
  summary: "Give a team to another owner",
  description:
    "For its owner: the user, or an ADMIN of the owning company. To another user it is an offer, in force when " +
    "they accept; to give it to a company, the team must belong to the company's owner. Transferring to the " +
    "present owner withdraws an offer. Administrators of the instance transfer everything, without consent.",
  tag: "Teams",
  scope: "TEAM_WRITE",
  access: "user",
  body: z
    .object({
      teamAlias: z.string().min(1).max(nameLengthMax),
      ownerAlias: z.string().min(1).max(nameLengthMax),
    })
    .meta({ id: "TeamTransfer" }),
  reply: TeamView,
  errors: [404],
  async handle({ body, request }, deps) {
    const { db, now } = deps;
    const row = mustBeFound(await findTeam(db, body.teamAlias), "team");
    const { id, owner_id: ownerId, owner_alias: ownerAlias } = row;
    const thing = { id, type: "TEAM", ownerId, ownerAlias } as const;
    if (!actsAsAdministrator(request)) {
      mustSuffice(await teamRole(db, row, request.userId), { resource: "team", role: "ADMIN" });
    }
    await mustMayTransfer(thing, request, deps);
    const owner = mustTakeTeams(await findOwner(db, body.ownerAlias));
    if (owner.id === ownerId) {
      await withdrawTransfer(id, request, deps);
      return teamView(row);
    }
    if (needsConsent(owner, request)) {
      await offerTransfer(thing, owner, request, deps);
      return { ...teamView(row), ...(await pendingTransfer(id, "ADMIN", deps)) };
    }
    mustBeOfItsOwner(owner, row, request);
    const command = {
      type: "TransferTeam",
      ownerId: owner.id,
      ownerType: owner.type,
      ...stampOf(request, { now }),
    } as const;
    await request.executeProcess(async (metadata) => {
      const transferred = await transfer(commandDeps(deps), row.id, command, metadata);
      return withdrawAfter(transferred, { id, metadata }, request, deps);
    });
    return teamView(mustBeFound(await findTeamById(db, row.id), "team"));
  },
});

type TeamOwner = OwnerRow & Readonly<{ type: TeamOwnerType }>;

/** @throws Refusal 404 `owner.not_found` */
function mustTakeTeams(owner: OwnerRow | undefined): TeamOwner {
  if (owner !== undefined && owner.type !== "TEAM") return { ...owner, type: owner.type };
  throw new Refusal("not_found", "owner.not_found", "There is no such user or company.");
}

/** @throws Refusal 403 `owner.forbidden` */
function mustBeOfItsOwner(
  owner: TeamOwner,
  { owner_user_id }: TeamRow,
  request: RequestContext,
): void {
  const isOwn = owner.type === "USER" || owner.user_id === owner_user_id;
  if (isOwn || actsAsAdministrator(request)) return;
  const message = "A team goes only to a company of the team's own owner.";
  throw new Refusal("forbidden", "owner.forbidden", message);
}

export const teamTransferRoutes: readonly Route[] = [transferTeam];
