import { issue } from "../../../src/commands/issue/issue.ts";
import { ObjectId, ProjectId, UserId } from "../../../src/events/core/ids.ts";
import {
  type IssueChanges,
  type IssueDetails,
  type IssueEvent,
  IssueId,
  IssueStatus,
} from "../../../src/events/issue/issue.ts";
import { LabelId } from "../../../src/events/label/label.ts";
import { specify } from "../../support/app/decider.ts";
import { at } from "../../support/app/history.ts";

const given = specify(issue);
const issueId = IssueId.parse("3c2b1a09-8f7e-4d6c-9b5a-4e3d2c1b0a98");
const projectId = ProjectId.parse("9a8b7c6d-5e4f-4a3b-8c2d-1e0f9a8b7c6d");
const otherProject = ProjectId.parse("1a8b7c6d-5e4f-4a3b-8c2d-1e0f9a8b7c6d");
const by = UserId.parse("7d4f4c0e-7f55-4c6c-9a35-0d4bb5f2ab01");
const boris = UserId.parse("8d4f4c0e-7f55-4c6c-9a35-0d4bb5f2ab01");
const bug = LabelId.parse("4f0e1d2c-3b4a-4596-8877-665544332211");
const commitId = ObjectId.parse("9fceb02d0ae598e95dc970b74767f19372d61af8");
const within = { projectId, by, at } as const;
const details: IssueDetails = {
  title: "Search",
  description: "It finds nothing.",
  status: "OPEN",
  assigneeIds: [by, boris],
  labelIds: [bug],
};

const created: IssueEvent = {
  type: "IssueCreated",
  data: { issueId, projectId, ...details, createdById: by, createdAt: at },
};
const deleted: IssueEvent = {
  type: "IssueDeleted",
  data: { projectId, title: "Search", deletedById: by, deletedAt: at },
};
const edited = (changes: IssueChanges, previous: IssueChanges): IssueEvent => ({
  type: "IssueEdited",
  data: {
    projectId,
    details: changes,
    previousDetails: previous,
    editedById: by,
    editedAt: at,
  },
});
const edit = (changes: IssueChanges) => ({ type: "EditIssue", changes, ...within }) as const;

describe("creating an issue", () => {
  const create = { type: "CreateIssue", issueId, details, ...within } as const;

  it("records it, once", () => {
    given().when(create).gives(created);
    given(created).when(create).refuses("issue.exists");
    given(created, deleted).when(create).refuses("issue.exists");
  });
});

describe("editing an issue", () => {
  it("records the fields that changed, as they were and as they became", () => {
    given(created)
      .when(edit({ title: "Find", description: details.description, assigneeIds: [boris] }))
      .gives(
        edited(
          { title: "Find", assigneeIds: [boris] },
          { title: "Search", assigneeIds: [by, boris] },
        ),
      );
  });

  it("records nothing when nothing changes", () => {
    given(created).when(edit({})).givesNothing();
    given(created).when(edit(details)).givesNothing();
    given(created)
      .when(edit({ assigneeIds: [boris, by] }))
      .givesNothing();
  });

  it("goes on from the edits before it", () => {
    given(created, edited({ title: "Find" }, { title: "Search" }))
      .when(edit({ title: "Search" }))
      .gives(edited({ title: "Search" }, { title: "Find" }));
  });

  it("changes every status into every other", () => {
    for (const from of IssueStatus.options) {
      for (const status of IssueStatus.options) {
        const before: IssueEvent = { ...created, data: { ...created.data, status: from } } as never;
        const when = given(before).when(edit({ status }));
        if (status === from) when.givesNothing();
        else when.gives(edited({ status }, { status: from }));
      }
    }
  });

  it("refuses an issue that is absent, deleted or of another project", () => {
    given()
      .when(edit({ title: "x" }))
      .refuses("issue.not_found");
    given(created, deleted)
      .when(edit({ title: "x" }))
      .refuses("issue.not_found");
    given(created)
      .when({ ...edit({ title: "x" }), projectId: otherProject })
      .refuses("issue.not_found");
  });
});

describe("closing an issue by a commit", () => {
  const close = { type: "CloseIssueByCommit", commitId, ...within } as const;
  const closed: IssueEvent = {
    type: "IssueClosedByCommit",
    data: {
      projectId,
      commitId,
      status: "CLOSED",
      previousStatus: "OPEN",
      closedById: by,
      closedAt: at,
    },
  };
  const reopened = edited({ status: "OPEN" }, { status: "CLOSED" });
  const seen = (id: ObjectId): IssueEvent => ({
    type: "IssueClosingCommitFound",
    data: { projectId, commitId: id, pushedById: by, foundAt: at },
  });

  it("names the commit", () => {
    given(created).when(close).gives(closed);
  });

  it("happens once for a commit, also when the issue was reopened", () => {
    given(created, closed).when(close).givesNothing();
    given(created, closed, reopened).when(close).givesNothing();
    const other = { ...close, commitId: ObjectId.parse("0".repeat(40)) };
    given(created, closed, reopened)
      .when(other)
      .gives({ ...closed, data: { ...closed.data, commitId: other.commitId } } as IssueEvent);
  });

  it("happens not at all for a commit that came while the issue was closed", () => {
    const other = { ...close, commitId: ObjectId.parse("0".repeat(40)) };
    given(created, closed).when(other).gives(seen(other.commitId));
    given(created, closed, seen(other.commitId)).when(other).givesNothing();
    given(created, closed, seen(other.commitId), reopened).when(other).givesNothing();
  });

  it("leaves an issue alone that is completed, deleted, absent or of another project", () => {
    const completed = edited({ status: "COMPLETED" }, { status: "OPEN" });
    given(created, completed).when(close).gives(seen(commitId));
    given(created, deleted).when(close).givesNothing();
    given().when(close).givesNothing();
    given(created)
      .when({ ...close, projectId: otherProject })
      .givesNothing();
  });
});

describe("deleting an issue", () => {
  const remove = { type: "DeleteIssue", ...within } as const;

  it("records the title, once", () => {
    given(created).when(remove).gives(deleted);
    given(created, deleted).when(remove).givesNothing();
  });

  it("refuses an issue that is absent or of another project", () => {
    given().when(remove).refuses("issue.not_found");
    for (const past of [[created], [created, deleted]]) {
      given(...past)
        .when({ ...remove, projectId: otherProject })
        .refuses("issue.not_found");
    }
  });
});
