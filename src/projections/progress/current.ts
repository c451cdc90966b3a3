import type { Knex } from "knex";

import { Refusal } from "../../platform/refusal.ts";
import { beforeEverything, type CheckpointRow } from "../core/checkpoint.ts";
import { behind } from "./visible.ts";

/** The read models that decide who may change a ref. */
const deciding = [
  "access_token",
  "company",
  "lfs_lock",
  "member",
  "oauth_authorization",
  "project",
  "protection",
  "settings",
  "ssh_key",
  "team",
  "template_setting",
  "user",
] as const;

/**
 * Of these read models, those that may lack something up to a position of the log, or up to what the live ones
 * have when none is given: they have stopped or are catching up.
 */
export async function notCurrent(
  db: Knex,
  names: readonly string[],
  upTo?: bigint,
): Promise<readonly string[]> {
  const rows = await db<CheckpointRow>("projection_progress")
    .whereIn("name", [...names])
    .andWhere("state", "live")
    .andWhere("position", ">=", upTo ?? beforeEverything)
    .select("name");
  const current = new Set(rows.map(({ name }) => name));
  return names.filter((name) => !current.has(name));
}

/**
 * Refuses to decide by a read model that has stopped or is catching up: it may lack the very rule or
 * the loss of a role that matters.
 *
 * @throws Refusal 503 `projection.not_current`
 */
export async function mustDecideByCurrent(db: Knex): Promise<void> {
  if ((await notCurrent(db, deciding)).length === 0) return;
  const message = "Refs cannot be changed while what protects them is not up to date. Try again.";
  throw new Refusal("unavailable", "projection.not_current", message, { retryAfterSeconds: 5 });
}

/** @throws Refusal `projection.lagging` when a read model has stopped or is built again */
export async function mustBeCurrent(db: Knex, name: string): Promise<void> {
  if ((await notCurrent(db, [name])).length > 0) throw behind();
}
