import { mergeRequest } from "../../../src/commands/merge-request/merge-request.ts";
import { MergeRequestId, ObjectId, ProjectId, UserId } from "../../../src/events/core/ids.ts";
import type { MergeRequestEvent } from "../../../src/events/merge-request/merge-request.ts";
import { specify } from "../../support/decider.ts";
import { at } from "../../support/history.ts";

const given = specify(mergeRequest.decider);
const mergeRequestId = MergeRequestId.parse("4d3c2b1a-0f9e-4d8c-9b7a-6e5d4c3b2a19");
const projectId = ProjectId.parse("9a8b7c6d-5e4f-4a3b-8c2d-1e0f9a8b7c6d");
const otherProject = ProjectId.parse("1a8b7c6d-5e4f-4a3b-8c2d-1e0f9a8b7c6d");
const by = UserId.parse("7d4f4c0e-7f55-4c6c-9a35-0d4bb5f2ab01");
const approver = UserId.parse("8e5f5d1f-8f66-4d7d-8b46-1e5cc6f3bc12");
const commits = ["a", "b", "c"].map((digit) => ObjectId.parse(digit.repeat(40)));
const [first, second, third] = commits as [ObjectId, ObjectId, ObjectId];
const details = {
  title: "Search",
  description: "",
  removeSourceBranch: false,
  squashCommit: false,
  workInProgress: false,
  assignedUserIds: [],
  reviewerIds: [],
  labelIds: [],
};
const within = { projectId, by, at } as const;
const branches = { sourceBranch: "feature", targetBranch: "main" };

const opened: MergeRequestEvent = {
  type: "MergeRequestOpened",
  data: {
    ...{ mergeRequestId, projectId, sourceProjectId: projectId, ...branches },
    ...{ sourceCommit: first, details, openedById: by, openedAt: at },
  },
};
const approved: MergeRequestEvent = {
  type: "MergeRequestApproved",
  data: { approverId: approver, sourceCommit: first, approvedAt: at },
};
const closed: MergeRequestEvent = {
  type: "MergeRequestClosed",
  data: { closedById: by, closedAt: at },
};
const canceled: MergeRequestEvent = {
  type: "MergeRequestCanceled",
  data: { canceledById: by, canceledAt: at },
};
const mergeId = "6f5e4d3c-2b1a-4098-8f7e-6d5c4b3a2918";
const otherMergeId = "7a5e4d3c-2b1a-4098-8f7e-6d5c4b3a2918";
const merge = {
  mergeId,
  strategy: "MERGE_COMMIT",
  targetBranch: "main",
  targetBefore: second,
  sourceCommit: first,
  mergeCommit: third,
  removeSourceBranch: false,
} as const;
const begun = (begunAt = at, id = mergeId): MergeRequestEvent => ({
  type: "MergeRequestMergeBegun",
  data: { ...merge, mergeId: id, begunById: by, begunAt },
});
const abandoned: MergeRequestEvent = {
  type: "MergeRequestMergeAbandoned",
  data: { mergeId, abandonedAt: at },
};
const merged: MergeRequestEvent = {
  type: "MergeRequestMerged",
  data: { mergeId, mergeCommit: third, mergedById: by, mergedAt: at },
};
const autoMerge: MergeRequestEvent = {
  type: "MergeRequestAutoMergeSet",
  data: {
    sourceCommit: first,
    choice: {
      strategy: "SQUASH",
      removeSourceBranch: true,
      mergeCommitMessage: null,
      squashCommitMessage: null,
    },
    setById: by,
    setAt: at,
  },
};
const cleared = (reason: "PUSH" | "CLOSED" | "TARGET_CHANGED"): MergeRequestEvent => ({
  type: "MergeRequestAutoMergeCleared",
  data: { reason, clearedAt: at },
});

describe("a merge request", () => {
  const edit = { type: "EditMergeRequest", mayEditMerged: false, ...within } as const;
  const keeping = { ...edit, removesApprovals: false } as const;
  const retarget = { ...keeping, change: {}, targetBranch: "release" } as const;
  const retargeted: MergeRequestEvent = {
    type: "MergeRequestRetargeted",
    data: {
      ...{ targetBranch: "release", previousTargetBranch: "main" },
      ...{ retargetedById: by, retargetedAt: at },
    },
  };
  const removed = (reason: "PUSH" | "TARGET_CHANGED"): MergeRequestEvent => ({
    type: "MergeRequestApprovalsRemoved",
    data: { approverIds: [approver], reason, removedAt: at },
  });

  it("of another project is not found", () => {
    given(opened)
      .when({ type: "CloseMergeRequest", ...within, projectId: otherProject })
      .refuses("merge_request.not_found");
    given()
      .when({ type: "CloseMergeRequest", ...within })
      .refuses("merge_request.not_found");
  });

  it("keeps what an edit leaves out, and records nothing when nothing changes", () => {
    const change = { title: "Find" };
    const { description: _, ...previousDetails } = details;
    const renamed: MergeRequestEvent = {
      type: "MergeRequestEdited",
      data: {
        projectId,
        details: { ...previousDetails, ...change },
        previousDetails,
        editedById: by,
        editedAt: at,
      },
    };
    given(opened)
      .when({ ...keeping, change })
      .gives(renamed);
    given(opened, renamed)
      .when({ ...keeping, change: { description: "New" } })
      .gives({
        type: "MergeRequestEdited",
        data: {
          projectId,
          details: { ...details, ...change, description: "New" },
          previousDetails: { ...details, ...change },
          editedById: by,
          editedAt: at,
        },
      });
    given(opened)
      .when({ ...keeping, change: { title: "Search" } })
      .givesNothing();
  });

  it("loses its approvals and its planned merge with its target, where that is configured", () => {
    given(opened, approved).when(retarget).gives(retargeted);
    given(opened, approved, autoMerge)
      .when({ ...retarget, removesApprovals: true })
      .gives(retargeted, removed("TARGET_CHANGED"), cleared("TARGET_CHANGED"));
  });

  it("records a push once, and none while it is not open", () => {
    const move = { type: "RecordSourceMove", sourceCommit: second, at } as const;
    const moved: MergeRequestEvent = {
      type: "MergeRequestSourceMoved",
      data: { sourceCommit: second, previousSourceCommit: first, movedAt: at },
    };
    given(opened, approved, autoMerge)
      .when({ ...move, removesApprovals: true })
      .gives(moved, removed("PUSH"), cleared("PUSH"));
    given(opened, approved)
      .when({ ...move, removesApprovals: false })
      .gives(moved);
    given(opened, moved)
      .when({ ...move, removesApprovals: true })
      .givesNothing();
    given(opened, closed)
      .when({ ...move, removesApprovals: true })
      .givesNothing();
  });

  it("is approved by the first click and not any more by the second", () => {
    const toggle = { type: "ToggleApproval", ...within, by: approver } as const;
    given(opened).when(toggle).gives(approved);
    given(opened, approved)
      .when(toggle)
      .gives({
        type: "MergeRequestApprovalWithdrawn",
        data: { approverId: approver, withdrawnAt: at },
      });
    given(opened, closed).when(toggle).refuses("merge_request.closed");
    given(opened, canceled).when(toggle).refuses("merge_request.final");
  });

  it("is closed, reopened and cancelled; the end is final", () => {
    given(opened, autoMerge)
      .when({ type: "CloseMergeRequest", ...within })
      .gives(closed, cleared("CLOSED"));
    given(opened, closed)
      .when({ type: "CloseMergeRequest", ...within })
      .givesNothing();
    given(opened, canceled)
      .when({ type: "CancelMergeRequest", ...within })
      .givesNothing();
    for (const type of ["CloseMergeRequest", "ReopenMergeRequest"] as const) {
      given(opened, canceled)
        .when({ type, ...within })
        .refuses("merge_request.final");
      given(opened, begun(), merged)
        .when({ type, ...within })
        .refuses("merge_request.final");
    }
  });
});

describe("merging a request", () => {
  const { title, workInProgress } = details;
  const judged = { title, workInProgress, rules: null, approverIds: [] } as const;
  const begin = { type: "BeginMerge", ...merge, judged, ...within } as const;
  const later = new Date(Date.parse(at) + 20_000).toISOString();

  it("begins only with what was judged", () => {
    given(opened).when(begin).gives(begun());
    given(opened)
      .when({ ...begin, sourceCommit: second })
      .refuses("merge_request.changed");
    given(opened)
      .when({ ...begin, targetBranch: "other" })
      .refuses("merge_request.changed");
    given(opened, closed).when(begin).refuses("merge_request.closed");
  });

  const edited = (change: Partial<typeof details>): MergeRequestEvent => ({
    type: "MergeRequestEdited",
    data: {
      ...{ projectId, details: { ...details, ...change }, previousDetails: details },
      ...{ editedById: by, editedAt: at },
    },
  });
  const ownRule = {
    ...{ targetBranch: "main", name: "Two", minimalApprovals: 1, allowedApproverIds: [approver] },
  };

  it("begins only while the title, the draft flag, the approvals and the rules are as judged", () => {
    const withApproval = { ...begin, judged: { ...judged, approverIds: [approver] } };
    const withdrawn: MergeRequestEvent = {
      type: "MergeRequestApprovalWithdrawn",
      data: { approverId: approver, withdrawnAt: at },
    };
    given(opened, approved).when(withApproval).gives(begun());
    given(opened, approved).when(begin).gives(begun());
    given(opened, approved, withdrawn).when(withApproval).refuses("merge_request.changed");
    for (const change of [{ title: "Draft: Search" }, { workInProgress: true }]) {
      given(opened, edited(change)).when(begin).refuses("merge_request.changed");
    }
    given(opened, edited({ description: "More" }))
      .when(begin)
      .gives(begun());
    const rules = [ownRule];
    const replaced: MergeRequestEvent = {
      type: "MergeRequestApprovalRulesReplaced",
      data: { rules, replacedById: by, replacedAt: at },
    };
    given(opened, replaced).when(begin).refuses("merge_request.changed");
    const { allowedApproverIds, ...rest } = ownRule;
    // A read model gives the fields in another order.
    const shuffled = { ...judged, rules: [{ allowedApproverIds, ...rest }] };
    given(opened, replaced)
      .when({ ...begin, judged: shuffled })
      .gives(begun());
  });

  it("is done by one at a time, until the other is over", () => {
    const other = { ...begin, mergeId: otherMergeId };
    given(opened, begun()).when(other).refuses("merge.in_progress");
    given(opened, begun(), abandoned).when(other).gives(begun(at, otherMergeId));
    given(opened, begun())
      .when({ ...other, at: later })
      .gives(begun(later, otherMergeId));
    for (const type of ["CloseMergeRequest", "CancelMergeRequest"] as const) {
      given(opened, begun())
        .when({ type, ...within })
        .refuses("merge.in_progress");
    }
  });

  it("is not begun again under its id, whose commit is in the log", () => {
    given(opened, begun(), abandoned).when(begin).refuses("merge_request.changed");
  });

  it("is recorded whatever happened meanwhile, once, and only if it was begun", () => {
    const record = { type: "RecordMerge", mergeId, at } as const;
    given(opened, begun()).when(record).gives(merged);
    given(opened, begun(), abandoned, canceled).when(record).gives(merged);
    given(opened, begun(), merged).when(record).givesNothing();
    given(opened).when(record).refuses("merge.unknown");
  });
});
