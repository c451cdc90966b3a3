import type { Knex } from "knex";

import {
  findGrantHolder,
  type GrantHolderRow,
  type GrantProof,
} from "../../projections/access/caller.ts";
import { type Remembered, remembered } from "../core/cached-query.ts";
import type { Deps } from "../core/deps.ts";

type HolderDeps = Pick<Deps, "db" | "onChange">;

/** One of each database: a process has one, a process of tests several. */
const memories = new WeakMap<Knex, Remembered<GrantHolderRow>>();

/** The user of a token of the registry: a push asks for them over a hundred times. */
export function grantHolder(
  proof: GrantProof,
  deps: HolderDeps,
): Promise<GrantHolderRow | undefined> {
  return memoryOf(deps).get(JSON.stringify(proof));
}

function memoryOf({ db, onChange }: HolderDeps): Remembered<GrantHolderRow> {
  const known = memories.get(db);
  if (known !== undefined) return known;
  const memory = remembered((key) => findGrantHolder(db, JSON.parse(key) as GrantProof));
  onChange((subject) => {
    if (subject === undefined) memory.forget();
    else memory.forget((row) => concerns(row, subject));
  });
  memories.set(db, memory);
  return memory;
}

function concerns({ user_id, owner_id, application_id }: GrantHolderRow, subject: string): boolean {
  const subjects = [`user-${user_id}`, `user-${owner_id}`, `application-${application_id}`];
  return subjects.includes(subject);
}
