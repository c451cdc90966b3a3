import type { Knex } from "knex";

import { Refusal } from "../../platform/refusal.ts";
import type { CheckpointRow } from "./checkpoint.ts";

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
 * Refuses to decide by a read model that has stopped or is catching up: it may lack the very rule or
 * the loss of a role that matters.
 *
 * @throws Refusal 503 `projection.not_current`
 */
export async function mustDecideByCurrent(db: Knex): Promise<void> {
  const rows = await db<CheckpointRow>("projection_checkpoint")
    .whereIn("name", [...deciding])
    .where("state", "live")
    .select("name");
  if (rows.length === deciding.length) return;
  const message = "Refs cannot be changed while what protects them is not up to date. Try again.";
  throw new Refusal("unavailable", "projection.not_current", message, { retryAfterSeconds: 5 });
}
