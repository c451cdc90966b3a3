import { mergeRequest } from "../../../src/commands/merge-request/merge-request.ts";
import type { MergeRequestEvent } from "../../../src/events/merge-request/merge-request.ts";
import { specify } from "../../support/app/decider.ts";
import { at } from "../../support/app/history.ts";
import {
  approved,
  approver,
  autoMerge,
  begun,
  by,
  canceled,
  cleared,
  closed,
  details,
  first,
  merged,
  opened,
  otherProject,
  projectId,
  second,
  within,
} from "../../support/git/merge-request-events.ts";

const given = specify(mergeRequest);

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

  it("is opened once", () => {
    const { openedById: _, openedAt: __, ...data } = opened.data;
    const open = { type: "OpenMergeRequest", ...data, by, at } as const;
    given().when(open).gives(opened);
    for (const end of [closed, canceled]) {
      given(opened, end).when(open).refuses("merge_request.exists");
    }
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
    given(opened)
      .when({ ...toggle, seen: second })
      .refuses("merge_request.changed");
    given(opened, approved, removed("PUSH")).when(toggle).gives(approved);
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
    const reopened: MergeRequestEvent = {
      type: "MergeRequestReopened",
      data: { reopenedById: by, reopenedAt: at },
    };
    const reopen = { type: "ReopenMergeRequest", ...within } as const;
    given(opened, closed).when(reopen).gives(reopened);
    given(opened, closed, reopened).when(reopen).givesNothing();
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

describe("the approval rules of a request itself", () => {
  const rule = {
    ...{ targetBranch: "main", name: "Two", minimalApprovals: 1, allowedApproverIds: [approver] },
  };
  const replace = { type: "ReplaceApprovalRules", rules: [rule], ...within } as const;
  const replaced = (rules: (typeof rule)[] | null): MergeRequestEvent => ({
    type: "MergeRequestApprovalRulesReplaced",
    data: { rules, replacedById: by, replacedAt: at },
  });

  it("replace those of the project until they are taken back", () => {
    given(opened)
      .when(replace)
      .gives(replaced([rule]));
    given(opened, replaced([rule]))
      .when(replace)
      .givesNothing();
    given(opened, replaced([rule]))
      .when({ ...replace, rules: null })
      .gives(replaced(null));
    given(opened)
      .when({ ...replace, rules: null })
      .givesNothing();
  });

  it("change only while the request is open", () => {
    given(opened, closed).when(replace).refuses("merge_request.closed");
    given(opened, canceled).when(replace).refuses("merge_request.final");
  });
});

describe("an edit of a request that has ended", () => {
  const edit = {
    type: "EditMergeRequest",
    ...{ change: { title: "Find" }, removesApprovals: false, ...within },
  } as const;
  const { description: _, ...previousDetails } = details;
  const renamed: MergeRequestEvent = {
    type: "MergeRequestEdited",
    data: {
      ...{ projectId, details: { ...previousDetails, title: "Find" }, previousDetails },
      ...{ editedById: by, editedAt: at },
    },
  };

  it("is possible when it is merged and the project allows it, but for its target", () => {
    const past = [opened, begun(), merged];
    given(...past)
      .when({ ...edit, mayEditMerged: true })
      .gives(renamed);
    given(...past)
      .when({ ...edit, mayEditMerged: false })
      .refuses("merge_request.final");
    given(...past)
      .when({ ...edit, mayEditMerged: true, targetBranch: "release" })
      .refuses("merge_request.final");
    given(opened, canceled)
      .when({ ...edit, mayEditMerged: true })
      .refuses("merge_request.final");
  });
});
