import type { Recorded } from "../../../events/core/event.ts";
import type { Data } from "../../../projections/audit/change.ts";
import { listAuditEntries } from "../../../projections/audit/entry-query.ts";
import { impossible, type Undone } from "./operation.ts";

/** What the log says of a tag before the event: made or moved last. */
export async function tagBefore({ db, event, data, readAt }: Undone): Promise<Data> {
  const [last] = await listAuditEntries(
    db,
    { subjectId: String(data["tag"]), types: ["TagCreated", "TagUpdated"] },
    { before: event.position, order: "newest", limit: 50 },
  ).then((rows) => rows.filter(({ stream }) => stream === event.stream));
  const tag: Recorded | undefined = last && (await readAt(last));
  if (tag === undefined) throw impossible("The log does not say where the tag pointed.");
  return tag.data;
}
