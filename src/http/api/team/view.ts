import { z } from "zod";

import type { TeamRow } from "../../../projections/team/team.ts";
import { selectorFields, selectorView } from "../../core/selector.ts";
import { PendingTransfer } from "./pending-transfer.ts";

export const teamFields = {
  id: z.uuid(),
  alias: z.string(),
  title: z.string(),
  description: z.string(),
  ownerAlias: z.string(),
  avatar: z.string(),
  ...selectorFields,
  private: z.boolean(),
  isDeleted: z.boolean(),
};

export const TeamView = z
  .object({
    ...teamFields,
    pendingTransfer: PendingTransfer.optional().meta({
      description: "The open offer, shown to those who may administer it.",
    }),
  })
  .meta({ id: "Team" });

type Shown = Pick<
  TeamRow,
  "id" | "alias" | "title" | "description" | "owner_alias" | "avatar" | "is_private" | "deleted_at"
>;

/** A company has these fields too. */
export function teamView(row: Omit<Shown, "id"> & Readonly<{ id: string }>) {
  return {
    id: row.id,
    alias: row.alias,
    title: row.title,
    description: row.description ?? "",
    ownerAlias: row.owner_alias,
    avatar: row.avatar ?? "",
    ...selectorView(row),
    private: row.is_private,
    isDeleted: row.deleted_at !== null,
  };
}
