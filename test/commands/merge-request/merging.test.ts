import { mergeRequest } from "../../../src/commands/merge-request/merge-request.ts";
import type { MergeRequestEvent } from "../../../src/events/merge-request/merge-request.ts";
import { specify } from "../../support/app/decider.ts";
import { at } from "../../support/app/history.ts";
import {
  abandoned,
  approved,
  approver,
  autoMerge,
  begun,
  by,
  byPush,
  canceled,
  cleared,
  closed,
  details,
  first,
  merge,
  merged,
  mergedByPush,
  mergeId,
  opened,
  otherMergeId,
  projectId,
  second,
  within,
} from "../../support/git/merge-request-events.ts";

const given = specify(mergeRequest);

describe("a planned merge", () => {
  const { choice } = autoMerge.data;
  const refusal = { code: "merge.nothing", message: "Nothing." };
  const plan = { type: "SetAutoMerge", sourceCommit: first, choice, ...within } as const;

  it("is of the commit that was seen, of a request that is open", () => {
    given(opened).when(plan).gives(autoMerge);
    given(opened)
      .when({ ...plan, sourceCommit: second })
      .refuses("merge_request.changed");
    given(opened, closed).when(plan).refuses("merge_request.closed");
    given().when(plan).refuses("merge_request.not_found");
  });

  it("is cleared once", () => {
    for (const why of [{ reason: "CANCELED" }, { reason: "REFUSED", refusal }] as const) {
      const clear = { type: "ClearAutoMerge", ...why, at } as const;
      const gone = cleared(why.reason, why.reason === "REFUSED" ? refusal : undefined);
      given(opened, autoMerge).when(clear).gives(gone);
      given(opened, autoMerge, gone).when(clear).givesNothing();
      given(opened).when(clear).givesNothing();
    }
  });

  it("is cleared where git cannot make it", () => {
    const record = { type: "RecordFailure", reason: "Broken", at } as const;
    const why = { code: "merge.failed", message: "Broken" };
    const failed = {
      type: "MergeRequestFailed",
      data: { reason: "Broken", failedAt: at },
    } as const;
    given(opened, autoMerge).when(record).gives(cleared("REFUSED", why), failed);
  });
});

describe("a merge that git cannot make", () => {
  const failed: MergeRequestEvent = {
    type: "MergeRequestFailed",
    data: { reason: "Broken object", failedAt: at },
  };

  it("ends an open request", () => {
    const record = { type: "RecordFailure", reason: "Broken object", at } as const;
    given(opened, begun()).when(record).gives(failed);
    given(opened, failed).when(record).refuses("merge_request.final");
    given().when(record).refuses("merge_request.not_found");
    given(opened, failed)
      .when({ type: "ReopenMergeRequest", ...within })
      .refuses("merge_request.final");
  });

  it("is abandoned once, by its id", () => {
    const abandon = { type: "AbandonMerge", mergeId, at } as const;
    given(opened, begun()).when(abandon).gives(abandoned);
    given(opened, begun(), abandoned).when(abandon).givesNothing();
    given(opened, begun())
      .when({ ...abandon, mergeId: otherMergeId })
      .givesNothing();
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

  it("is recorded once, also after it was abandoned, and only if it was begun", () => {
    const record = { type: "RecordMerge", mergeId, at } as const;
    given(opened, begun()).when(record).gives(merged);
    given(opened, begun(), abandoned, canceled).when(record).gives(merged);
    given(opened, begun(), merged).when(record).givesNothing();
    given(opened).when(record).refuses("merge.unknown");
  });
});

describe("a merge by a push to the target", () => {
  const record = { type: "RecordMergeByPush", ...byPush, by, at } as const;

  it("is recorded once, of an open request as it is now", () => {
    given(opened).when(record).gives(mergedByPush);
    given(opened, mergedByPush).when(record).givesNothing();
    given(opened, closed).when(record).givesNothing();
    given(opened)
      .when({ ...record, sourceCommit: second })
      .refuses("merge_request.changed");
  });

  it("waits for a merge that is under way", () => {
    given(opened, begun()).when(record).refuses("merge.in_progress");
    given(opened, begun(), abandoned).when(record).gives(mergedByPush);
  });
});
