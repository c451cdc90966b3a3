import type { Knex } from "knex";
import { z } from "zod";

import type { IssueStatus } from "../../../events/issue/issue.ts";
import type { NumberedIssueRow } from "../../../projections/issue/list.ts";
import { type LabelRow, labelsById } from "../../../projections/label/label.ts";
import { findUsersById, type UserRow } from "../../../projections/user/user.ts";
import type { ResolvedProject } from "../../access/gate.ts";
import { instant } from "../../core/schema.ts";
import { SelectorObject, selectorObject } from "../../core/selector.ts";
import { toView } from "../../core/view.ts";
import { LabelView, labelView } from "../label/view.ts";
import { participantView } from "../user/participant.ts";
import { UserView } from "../user/view.ts";

export const IssueView = z
  .object({
    id: z.uuid(),
    localId: z.int().meta({ description: "Number in the project, from 1." }),
    description: z.string(),
    title: z.string(),
    status: SelectorObject.meta({ description: "`id` is OPEN, IN_PROGRESS, CLOSED or COMPLETED." }),
    assignedUsers: z.array(UserView),
    labels: z.array(LabelView),
    projectAlias: z.string(),
    userAlias: z.string().meta({ description: "Alias of the owner of the project." }),
    updatedAt: instant(),
    createdAt: instant(),
    updatedBy: UserView,
  })
  .meta({ id: "Issue" });
type IssueView = z.input<typeof IssueView>;

const statuses: Readonly<Record<IssueStatus, Readonly<{ title: string; hexColor: string }>>> = {
  OPEN: { title: "Open", hexColor: "#1a7f37" },
  IN_PROGRESS: { title: "In progress", hexColor: "#1f6feb" },
  CLOSED: { title: "Closed", hexColor: "#8250df" },
  COMPLETED: { title: "Completed", hexColor: "#495057" },
};

const presentStatus = (id: IssueStatus): SelectorObject =>
  selectorObject({ id, ...statuses[id], color: statuses[id].hexColor });

/** Issues of one project; people and labels of all of them are looked up at once. */
export async function issueViews(
  db: Knex,
  rows: readonly NumberedIssueRow[],
  { alias, owner_alias }: Pick<ResolvedProject["project"], "alias" | "owner_alias">,
): Promise<readonly IssueView[]> {
  const userIds = rows.flatMap(({ assignee_ids, updated_by_id }) => [
    ...assignee_ids,
    updated_by_id,
  ]);
  const [users, labels] = await Promise.all([
    findUsersById(db, [...new Set(userIds)]),
    labelsById(
      db,
      rows.flatMap(({ label_ids }) => label_ids),
    ),
  ]);
  return rows.map((row) =>
    toView(IssueView, row, {
      status: presentStatus(row.status),
      assignedUsers: row.assignee_ids.map((id) => participant(users, id)),
      labels: labelViews(row, labels),
      projectAlias: alias,
      userAlias: owner_alias,
      updatedBy: participant(users, row.updated_by_id),
    }),
  );
}

const participant = (users: ReadonlyMap<string, UserRow>, id: string) =>
  participantView(users.get(id), id);

/** By title; those that were deleted are left out. */
function labelViews({ label_ids }: NumberedIssueRow, labels: ReadonlyMap<string, LabelRow>) {
  return label_ids
    .flatMap((id) => labels.get(id) ?? [])
    .sort((a, b) => (a.title_normalised < b.title_normalised ? -1 : 1))
    .map(labelView);
}
