import { issueComment } from "../../../src/commands/issue/issue-comment.ts";
import type { EventOf } from "../../../src/events/core/event.ts";
import { ProjectId, UserId } from "../../../src/events/core/ids.ts";
import { IssueId } from "../../../src/events/issue/issue.ts";
import {
  IssueCommentId,
  type issueCommentEvents,
} from "../../../src/events/issue/issue-comment.ts";
import { specify } from "../../support/app/decider.ts";
import { at } from "../../support/app/history.ts";

type IssueCommentEvent = EventOf<typeof issueCommentEvents>;

const given = specify(issueComment);
const issueCommentId = IssueCommentId.parse("6b2b1a09-8f7e-4d6c-9b5a-4e3d2c1b0a98");
const issueId = IssueId.parse("3c2b1a09-8f7e-4d6c-9b5a-4e3d2c1b0a98");
const otherIssue = IssueId.parse("4c2b1a09-8f7e-4d6c-9b5a-4e3d2c1b0a98");
const projectId = ProjectId.parse("9a8b7c6d-5e4f-4a3b-8c2d-1e0f9a8b7c6d");
const by = UserId.parse("7d4f4c0e-7f55-4c6c-9a35-0d4bb5f2ab01");
const within = { issueId, projectId, by, at } as const;
const of = { issueId, projectId } as const;

const created: IssueCommentEvent = {
  type: "IssueCommentCreated",
  data: { issueCommentId, ...of, message: "One", createdById: by, createdAt: at },
};
const edited: IssueCommentEvent = {
  type: "IssueCommentEdited",
  data: { ...of, message: "Two", previousMessage: "One", editedById: by, editedAt: at },
};
const deleted: IssueCommentEvent = {
  type: "IssueCommentDeleted",
  data: { ...of, message: "Two", deletedById: by, deletedAt: at },
};
const create = {
  type: "CreateIssueComment",
  issueCommentId,
  message: "One",
  ...within,
} as const;
const edit = { type: "EditIssueComment", message: "Two", ...within } as const;
const remove = { type: "DeleteIssueComment", ...within } as const;

describe("a comment on an issue", () => {
  it("is created once", () => {
    given().when(create).gives(created);
    given(created).when(create).refuses("comment.exists");
    given(created, deleted).when(create).refuses("comment.exists");
  });

  it("records both texts of an edit, and nothing when they are the same", () => {
    given(created).when(edit).gives(edited);
    given(created, edited).when(edit).givesNothing();
  });

  it("records the last text when it is deleted, once", () => {
    given(created, edited).when(remove).gives(deleted);
    given(created, edited, deleted).when(remove).givesNothing();
  });

  for (const command of [edit, remove]) {
    it(`rejects ${command.type} when it is absent or on another issue`, () => {
      given().when(command).refuses("comment.not_found");
      given(created)
        .when({ ...command, issueId: otherIssue })
        .refuses("comment.not_found");
      given(created, deleted)
        .when({ ...command, issueId: otherIssue })
        .refuses("comment.not_found");
    });
  }

  it("cannot be edited once it is deleted", () => {
    given(created, deleted).when(edit).refuses("comment.not_found");
  });
});
