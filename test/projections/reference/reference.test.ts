import { randomUUID } from "node:crypto";
import { expect } from "chai";

import type { AnyEvent } from "../../../src/events/core/event.ts";
import { issueStream } from "../../../src/events/issue/issue.ts";
import { referenceProjection } from "../../../src/projections/reference/reference.ts";
import { at, history } from "../../support/app/history.ts";
import { applyEach, reset } from "../../support/app/projection.ts";
import { testDatabase } from "../../support/store/database.ts";

const { db } = await testDatabase();
const [issueId, projectId, by] = [randomUUID(), randomUUID(), randomUUID()];
const later = "2027-01-02T03:04:05.678Z";

type Written = readonly [string, AnyEvent];

const created = (description: string): Written => [
  issueStream(issueId),
  {
    type: "IssueCreated",
    data: {
      ...{ issueId, projectId, title: "A", description, status: "OPEN", assigneeIds: [] },
      ...{ labelIds: [], createdById: by, createdAt: at },
    },
  },
];
const edited = (previous: string, description: string): Written => [
  issueStream(issueId),
  {
    type: "IssueEdited",
    data: {
      ...{ projectId, details: { description }, previousDetails: { description: previous } },
      ...{ editedById: by, editedAt: later },
    },
  },
];

describe("what texts name", () => {
  for (const size of [1, 3]) {
    it(`keeps the time at which a text first named it, in batches of ${size}`, async () => {
      await reset(db, referenceProjection);
      const [first, second, third] = ["see #1 and #2", "closes #2, see #3", "#2 #4"] as const;
      const log = history(created(first), edited(first, second), edited(second, third));
      const batches = Array.from({ length: 3 / size }, (_, n) =>
        log.slice(n * size, (n + 1) * size),
      );
      await applyEach(db, referenceProjection, batches);
      const rows = await db("text_reference").orderBy("target");
      expect(
        rows.map(({ target, closes, created_at }) => [target, closes, created_at.toISOString()]),
      ).to.deep.equal([
        [`${projectId}#2`, false, at],
        [`${projectId}#4`, false, later],
      ]);
    });
  }

  it("leaves out code and comments of a description, and reads a title as it is", async () => {
    await reset(db, referenceProjection);
    const [stream, event] = created("`#2` <!-- Closes #3 -->\n\n\\#4 #5");
    const titled = { ...event, data: { ...event.data, title: "Parse `#1`" } };
    const log = history([stream, titled], edited("`#2` #5", "~~~\n#5\n~~~\n#6"));
    await applyEach(db, referenceProjection, [log]);
    const targets = await db("text_reference").orderBy("target").pluck("target");
    expect(targets).to.deep.equal([`${projectId}#1`, `${projectId}#6`]);
  });
});
