import type { Knex } from "knex";

import type { Recorded } from "../../events/core/event.ts";
import type { RepositoryEvent } from "../../events/repository/repository.ts";
import type { GitRefChangeRow } from "./ref-rows.ts";

type Moment = Pick<Recorded<RepositoryEvent>, "revision" | "metadata">;

/** Where a ref pointed once the push of an event had moved all of its refs; null where there was none. */
export async function refAfterPush(
  db: Knex,
  projectId: string,
  ref: string,
  { revision, metadata }: Moment,
): Promise<string | null> {
  const change = await db<GitRefChangeRow>("git_ref_change")
    .where({ project_id: projectId, ref })
    .where((change) =>
      change.where("revision", "<=", revision).orWhere("push_id", metadata.commandId),
    )
    .orderBy("revision", "desc")
    .first("after");
  return change?.after ?? null;
}
