import { z } from "zod";

import type { ReferenceListRow } from "../../../projections/reference/list.ts";
import { toView } from "../../core/view.ts";

export const ReferenceView = z
  .object({
    kind: z.enum(["COMMIT", "ISSUE", "MERGE_REQUEST", "NOTE"]),
    id: z.string().meta({ description: "Hash of a commit, else a UUID." }),
    localId: z
      .int()
      .nullable()
      .meta({ description: "Of the issue or merge request, also of the one a note is on." }),
    projectAlias: z.string(),
    userAlias: z.string().meta({ description: "Alias of the owner of the project." }),
    title: z.string().nullable(),
    closes: z.boolean().meta({ description: "A closing word stands before the reference." }),
  })
  .meta({ id: "Reference" });

export function referenceView(row: ReferenceListRow): z.input<typeof ReferenceView> {
  return toView(ReferenceView, row, {
    kind: row.source_kind,
    id: row.source_id,
    userAlias: row.owner_alias,
  });
}
