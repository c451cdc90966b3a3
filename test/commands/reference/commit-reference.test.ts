import { commitReference } from "../../../src/commands/reference/commit-reference.ts";
import { ObjectId, ProjectId } from "../../../src/events/core/ids.ts";
import type { CommitReferenceEvent } from "../../../src/events/reference/commit-reference.ts";
import { specify } from "../../support/app/decider.ts";
import { at } from "../../support/app/history.ts";

const given = specify(commitReference);
const projectId = ProjectId.parse("9a8b7c6d-5e4f-4a3b-8c2d-1e0f9a8b7c6d");
const commits = Array.from({ length: 150 }, (_, index) => ({
  commitId: ObjectId.parse(String(index).padStart(40, "0")),
  title: "Title",
  references: [{ target: "#1", closes: false }],
}));
const long = commits.slice(0, 30).map((commit) => ({
  ...commit,
  references: Array.from({ length: 100 }, (_, n) => ({ target: `#${n + 1}`, closes: false })),
}));
const found = (some: typeof commits): CommitReferenceEvent => ({
  type: "CommitReferencesFound",
  data: { projectId, commits: some, foundAt: at },
});
const record = { type: "RecordCommitReferences", projectId, commits, at } as const;

describe("references in the commits of a push", () => {
  it("are recorded in events of at most 100 commits, once", () => {
    given()
      .when(record)
      .gives(found(commits.slice(0, 100)), found(commits.slice(100)));
    given()
      .when({ ...record, commits: long })
      .gives(found(long.slice(0, 10)), found(long.slice(10, 20)), found(long.slice(20)));
    given(found(commits)).when(record).givesNothing();
    given()
      .when({ ...record, commits: [] })
      .givesNothing();
  });
});
