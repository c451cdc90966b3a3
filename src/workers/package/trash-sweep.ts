import { handle } from "../../commands/core/handle.ts";
import { packageVersion } from "../../commands/package/version.ts";
import { bySystem } from "../../events/core/system.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { versionsDeletedBefore } from "../../projections/package/live.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";

const dayMs = 24 * 3_600_000;
const purgedAtOnce = 500;

type SweepDeps = Pick<WorkerDeps, "db" | "store" | "now"> &
  Readonly<{ config: Pick<WorkerDeps["config"], "projectRetentionDays"> }>;

/**
 * Ends versions of packages whose time for being restored is over; what is left is ended in the next
 * round. Their blobs go when nothing refers to them any more.
 */
export async function sweepPackageTrash({ db, store, config, now }: SweepDeps): Promise<void> {
  const before = new Date(now().getTime() - config.projectRetentionDays * dayMs);
  for (const { id, package_id } of await versionsDeletedBefore(db, before, purgedAtOnce)) {
    const at = now().toISOString();
    const deletedBefore = before.toISOString();
    const command = {
      type: "PurgePackageVersion",
      packageId: package_id,
      deletedBefore,
      at,
    } as const;
    const commandId = deterministicId("purge package version", id, deletedBefore);
    await handle(store, packageVersion, { id, command, metadata: bySystem({ commandId }, at) });
  }
}
