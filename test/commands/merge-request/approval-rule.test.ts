import { approval } from "../../../src/commands/merge-request/approval-rule.ts";
import { UserId } from "../../../src/events/core/ids.ts";
import {
  type ApprovalEvent,
  type ApprovalRule,
  approvalConfigurationDefault,
} from "../../../src/events/merge-request/approval-rule.ts";
import { specify } from "../../support/app/decider.ts";
import { at } from "../../support/app/history.ts";

const given = specify(approval);
const by = UserId.parse("0b9f2d3a-6f0e-4c35-8a9e-0d1f2a3b4c5d");
const bob = UserId.parse("5d1b7a90-3c2e-4f61-8b7d-9e0f1a2b3c4d");
const ruleId = "11111111-2222-4333-8444-555566667777";
const parent = {
  parentId: "9a8b7c6d-5e4f-4a3b-8c2d-1e0f9a8b7c6d",
  parentType: "TEAM",
} as const;

const rule: ApprovalRule = {
  targetBranch: "main",
  name: "Both",
  minimalApprovals: 2,
  allowedApproverIds: [by, bob],
};
const create = (over: Partial<ApprovalRule> = {}) =>
  ({ type: "CreateApprovalRule", ruleId, ...parent, rule: { ...rule, ...over }, by, at }) as const;
const edit = (change: Partial<ApprovalRule>) =>
  ({ type: "EditApprovalRule", ruleId, change, by, at }) as const;
const created: ApprovalEvent = {
  type: "ApprovalRuleCreated",
  data: { ruleId, ...parent, rule, createdById: by, createdAt: at },
};
const deleted: ApprovalEvent = {
  type: "ApprovalRuleDeleted",
  data: { ruleId, rule, deletedById: by, deletedAt: at },
};

describe("approval rules", () => {
  it("are created, edited and deleted, with what was before", () => {
    given().when(create()).gives(created);
    const after = { ...rule, minimalApprovals: 1 };
    given(created)
      .when(edit({ minimalApprovals: 1 }))
      .gives({
        type: "ApprovalRuleEdited",
        data: { ruleId, rule: after, previous: rule, editedById: by, editedAt: at },
      });
    given(created)
      .when(edit({ name: "Both" }))
      .givesNothing();
    given(created).when({ type: "DeleteApprovalRule", ruleId, by, at }).gives(deleted);
  });

  it("never require more approvals than there are people to give them", () => {
    given()
      .when(create({ minimalApprovals: 3 }))
      .refuses("approval.unreachable");
    given()
      .when(create({ allowedApproverIds: [by, by] }))
      .refuses("approval.unreachable");
    given(created)
      .when(edit({ minimalApprovals: 3 }))
      .refuses("approval.unreachable");
    given(created)
      .when(edit({ allowedApproverIds: [] }))
      .refuses("approval.unreachable");
  });

  it("are refused when they are not there", () => {
    given(created, deleted).when(edit({})).refuses("approval.not_found");
    given().when({ type: "DeleteApprovalRule", ruleId, by, at }).refuses("approval.not_found");
  });
});

describe("the approval configuration", () => {
  const change = (over: object) =>
    ({ type: "ChangeApprovalConfiguration", ...parent, change: over, by, at }) as const;

  it("records all of it before and after, beginning with what was inherited", () => {
    const inherited = { ...approvalConfigurationDefault, checkCiCdStatus: true };
    const configuration = { ...inherited, preventAuthorApproving: true };
    const changed: ApprovalEvent = {
      type: "ApprovalConfigurationChanged",
      data: { ...parent, configuration, previous: inherited, changedById: by, changedAt: at },
    };
    given()
      .when({ ...change({ preventAuthorApproving: true }), inherited })
      .gives(changed);
    given(changed)
      .when(change({ preventAuthorApproving: true }))
      .givesNothing();
    given().when(change({})).givesNothing();
  });
});
