import { mergeRequest } from "../../../src/commands/merge-request/merge-request.ts";
import type { MergeRequestEvent } from "../../../src/events/merge-request/merge-request.ts";
import { specify } from "../../support/app/decider.ts";
import { at } from "../../support/app/history.ts";
import {
  begun,
  by,
  canceled,
  closed,
  first,
  merged,
  opened,
  otherProject,
  second,
  within,
} from "../../support/git/merge-request-events.ts";

const given = specify(mergeRequest);

describe("what a request brings that counts for its author", () => {
  const fromFork = { ...opened, data: { ...opened.data, broughtBytes: 600 } };
  const move = { type: "RecordSourceMove", sourceCommit: second, removesApprovals: false } as const;
  const moved = (broughtBytes?: number): MergeRequestEvent => ({
    type: "MergeRequestSourceMoved",
    data: {
      ...{ sourceCommit: second, previousSourceCommit: first, movedAt: at },
      ...(broughtBytes !== undefined && { broughtBytes }),
    },
  });

  it("is recorded with its opening, and in all with each version that brings more", () => {
    given(fromFork)
      .when({ ...move, at, broughtBytes: 50 })
      .gives(moved(650));
    given(fromFork)
      .when({ ...move, at })
      .gives(moved());
    given(fromFork, moved())
      .when({ ...move, sourceCommit: first, at, broughtBytes: 1 })
      .gives({
        type: "MergeRequestSourceMoved",
        data: {
          sourceCommit: first,
          previousSourceCommit: second,
          broughtBytes: 601,
          movedAt: at,
        },
      });
  });
});

describe("the refs of a request", () => {
  const remove = { type: "DeleteMergeRequestRefs", ...within } as const;
  const deleted: MergeRequestEvent = {
    type: "MergeRequestRefsDeleted",
    data: { deletedById: by, deletedAt: at },
  };

  it("are deleted once it has ended unmerged", () => {
    for (const end of [closed, canceled]) given(opened, end).when(remove).gives(deleted);
    given(opened, canceled, deleted).when(remove).givesNothing();
    given(opened).when(remove).refuses("merge_request.not_ended");
    given(opened, begun(), merged).when(remove).refuses("merge_request.not_ended");
    given(opened, closed)
      .when({ ...remove, projectId: otherProject })
      .refuses("merge_request.not_found");
  });

  it("are needed to open it again", () => {
    given(opened, closed, deleted)
      .when({ type: "ReopenMergeRequest", ...within })
      .refuses("merge_request.refs_deleted");
  });
});
