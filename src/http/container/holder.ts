import {
  findGrantHolder,
  type GrantHolderRow,
  type GrantProof,
} from "../../projections/access/caller.ts";
import { cachedQueryFor } from "../core/cached-query.ts";
import type { Deps } from "../core/deps.ts";

const holders = cachedQueryFor<GrantHolderRow>(
  (key, { db }) => findGrantHolder(db, JSON.parse(key) as GrantProof),
  (rows, subject) => {
    if (subject === undefined) rows.forget();
    else rows.forget((row) => concerns(row, subject));
  },
);

/** The user of a registry token, cached because a push needs them over a hundred times. */
export function grantHolder(
  proof: GrantProof,
  deps: Pick<Deps, "db" | "onChange">,
): Promise<GrantHolderRow | undefined> {
  return holders(deps).get(JSON.stringify(proof));
}

function concerns({ user_id, owner_id, application_id }: GrantHolderRow, subject: string): boolean {
  const subjects = [`user-${user_id}`, `user-${owner_id}`, `application-${application_id}`];
  return subjects.includes(subject);
}
