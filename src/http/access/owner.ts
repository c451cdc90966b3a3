import type { Knex } from "knex";

import type { Owns } from "../../commands/project/claim-child.ts";
import type { UserId } from "../../events/core/ids.ts";
import type { OwnerType } from "../../events/project/project.ts";
import { Refusal } from "../../platform/refusal.ts";
import { highestRole } from "../../projections/team/member.ts";
import { findOwner, type OwnerRow, owns } from "../../projections/team/owner.ts";
import type { Deps } from "../core/deps.ts";

type Wanted = Readonly<{ alias: string | null | undefined; type: OwnerType }>;

/**
 * The owner named in a body, under whom the caller may create things: the caller (also when nobody is
 * named), or a team or company in which the caller is an ADMIN.
 *
 * @throws Refusal 404 `owner.not_found`, also for an owner of another type; 403 `owner.forbidden`
 */
export async function ownerToBe(
  db: Knex,
  userId: UserId,
  { alias, type }: Wanted,
): Promise<Readonly<{ id: string }>> {
  if (type === "USER" && (alias ?? "") === "") return { id: userId };
  const owner = await ownerNamed(db, { alias, type });
  if (!(await mayCreateFor(db, owner, userId))) {
    const message = "You may not create this for that owner.";
    throw new Refusal("forbidden", "owner.forbidden", message);
  }
  return owner;
}

/** @throws Refusal 404 `owner.not_found` */
export async function ownerNamed(db: Knex, { alias, type }: Wanted): Promise<OwnerRow> {
  const owner = await findOwner(db, alias ?? "");
  if (owner?.type === type) return owner;
  throw new Refusal("not_found", "owner.not_found", "There is no such owner.");
}

export async function mayCreateFor(db: Knex, owner: OwnerRow, userId: UserId): Promise<boolean> {
  if (owner.user_id === userId) return true;
  if (owner.type === "USER") return false;
  const parents = [owner.id, owner.company_id].filter((id) => id !== null);
  return (await highestRole(db, userId, parents)) === "ADMIN";
}

/** By the read models, once they show everything that has happened by now. */
export function ownsByNow({ db, store, visible }: Pick<Deps, "db" | "store" | "visible">): Owns {
  return async (ownerId) => {
    try {
      await visible(await store.head());
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const message = "What still belongs to it is not known yet. Try again in a moment.";
      throw new Refusal(error.kind, error.code, message, error.details);
    }
    return owns(db, ownerId);
  };
}
