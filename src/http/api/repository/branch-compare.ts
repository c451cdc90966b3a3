import { z } from "zod";

import { changedFiles } from "../../../git/diff/diff.ts";
import { lastTouched } from "../../../git/diff/last-touched.ts";
import { mergeBase } from "../../../git/history.ts";
import { isNullObjectId } from "../../../git/name.ts";
import type { Commit } from "../../../git/object/object.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { mustReadCommit } from "../../access/repository-access.ts";
import { type Route, route } from "../../core/route.ts";
import { nameLengthMax } from "../../core/schema.ts";
import { ChangedFileView, changeView } from "./changed-file-view.ts";
import { mustFindRevision, refsAsOf, revisionText } from "./revision.ts";

const name = z.string().min(1).max(nameLengthMax).meta({ description: revisionText });

const compareBranches = route({
  method: "get",
  path: "/project/{ownerAlias}/{projectAlias}/branch/compare",
  operationId: "compareBranches",
  summary: "List the files that a branch changed since it left another",
  description: "Against the common ancestor of the two, as a merge request would show them.",
  tag: "Branches",
  scope: "PROJECT_READ",
  access: "project:GUEST",
  query: z.object({ base: name, compare: name }),
  reply: z.array(ChangedFileView),
  asOf: refsAsOf,
  async handle({ query, request: { project } }, deps) {
    const [base, compare] = await Promise.all([
      mustFindRevision(deps, project, query.base),
      mustFindRevision(deps, project, query.compare),
    ]);
    const { repository } = compare;
    const ancestorId = await mergeBase(repository, base.commit.id, compare.commit.id);
    if (ancestorId === null) {
      const message = "The two share no history: there is nothing to compare from.";
      throw new Refusal("unprocessable", "compare.unrelated", message);
    }
    const ancestor = await mustReadCommit(repository, ancestorId);
    const changes = await changedFiles(repository, ancestor.treeId, compare.commit.treeId);
    const pathOf = (change: (typeof changes)[number]): string =>
      isNullObjectId(change.newId) ? change.oldPath : change.newPath;
    const last: ReadonlyMap<string, Commit> =
      changes.length === 0
        ? new Map()
        : await lastTouched(repository, ancestor.id, compare.commit.id, changes.map(pathOf));
    const between = `${ancestor.id}..${compare.commit.id}`;
    return changes.map((change) => changeView(change, between, last.get(pathOf(change))));
  },
});

export const branchCompareRoutes: readonly Route[] = [compareBranches];
