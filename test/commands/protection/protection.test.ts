import { type ProtectionCommand, protection } from "../../../src/commands/protection/protection.ts";
import { UserId } from "../../../src/events/core/ids.ts";
import type { ProtectionEvent, ProtectionRule } from "../../../src/events/protection/protection.ts";
import { specify } from "../../support/app/decider.ts";
import { at } from "../../support/app/history.ts";

const given = specify(protection);
const by = UserId.parse("0b9f2d3a-6f0e-4c35-8a9e-0d1f2a3b4c5d");
const parent = {
  parentId: "9a8b7c6d-5e4f-4a3b-8c2d-1e0f9a8b7c6d",
  parentType: "PROJECT",
} as const;
const ruleId = "11111111-2222-4333-8444-555566667777";
const otherId = "22222222-2222-4333-8444-555566667777";
const applyId = "33333333-2222-4333-8444-555566667777";

const tag = { kind: "TAG", template: "v*", allowToCreate: "ADMINS" } as const;
const branch = {
  kind: "BRANCH",
  template: "v*",
  allowedToPush: "DEVELOPER",
  allowedToMerge: "DEVELOPER",
  allowForcePush: true,
} as const;

const create = (rule: ProtectionRule, id = ruleId): ProtectionCommand => ({
  type: "CreateProtectionRule",
  ruleId: id,
  ...parent,
  rule,
  by,
  at,
});
const created = (rule: ProtectionRule, id = ruleId): ProtectionEvent => ({
  type: "ProtectionRuleCreated",
  data: { ruleId: id, ...parent, rule, createdById: by, createdAt: at },
});
const edited = (rule: ProtectionRule, previous: ProtectionRule): ProtectionEvent => ({
  type: "ProtectionRuleEdited",
  data: { ruleId, rule, previous, editedById: by, editedAt: at },
});
const deleted = {
  type: "ProtectionRuleDeleted",
  data: { ruleId, rule: tag, deletedById: by, deletedAt: at },
} as const;

describe("creating a protection rule", () => {
  it("records it", () => {
    given().when(create(tag)).gives(created(tag));
  });

  it("is refused for a template that has a rule of this kind, until that is deleted", () => {
    given(created(tag)).when(create(tag, otherId)).refuses("protection.template_taken");
    given(created(tag)).when(create(branch, otherId)).gives(created(branch, otherId));
    given(created(tag), deleted).when(create(tag, otherId)).gives(created(tag, otherId));
  });
});

describe("the rules of a project", () => {
  it("are at most 100 of a kind", () => {
    const rules = Array.from({ length: 100 }, (_, index) =>
      created({ ...tag, template: `v${index}` }, `${index}`),
    );
    given(...rules.slice(1))
      .when(create(tag))
      .gives(created(tag));
    given(...rules)
      .when(create(tag))
      .refuses("protection.too_many");
    given(...rules)
      .when(create(branch))
      .gives(created(branch));
  });
});

describe("editing a protection rule", () => {
  const edit = (change: Record<string, unknown>, kind: ProtectionRule["kind"] = "TAG") =>
    ({ type: "EditProtectionRule", ruleId, kind, change, by, at }) as const;

  it("records it before and after, once", () => {
    const after = { ...tag, allowToCreate: "NO_ONE" } as const;
    given(created(tag))
      .when(edit({ allowToCreate: "NO_ONE" }))
      .gives(edited(after, tag));
    given(created(tag), edited(after, tag))
      .when(edit({ allowToCreate: "NO_ONE" }))
      .givesNothing();
    given(created(tag)).when(edit({})).givesNothing();
  });

  it("is refused for a rule of another kind and for one that is not there", () => {
    given(created(tag)).when(edit({}, "BRANCH")).refuses("protection.not_found");
    given(created(tag), deleted).when(edit({})).refuses("protection.not_found");
    given().when(edit({})).refuses("protection.not_found");
  });
});

describe("deleting a protection rule", () => {
  const remove = { type: "DeleteProtectionRule", ruleId, kind: "TAG", by, at } as const;

  it("records what it was", () => {
    given(created(tag)).when(remove).gives(deleted);
    given(created(tag), deleted).when(remove).refuses("protection.not_found");
    given(created(tag))
      .when({ ...remove, kind: "BRANCH" })
      .refuses("protection.not_found");
  });
});

describe("applying rules from above", () => {
  const fromId = "c0ffee00-1111-4222-8333-444455556666";
  const stricter = { ...tag, allowToCreate: "NO_ONE" } as const;
  const request = { applyId, ...parent, kind: "TAG" } as const;
  const record = (ruleId: string, rule: ProtectionRule): ProtectionCommand => ({
    type: "RecordApplied",
    applyId,
    kind: "TAG",
    fromId,
    rules: [{ ruleId, rule }],
    at,
  });
  const applied = (ruleId: string, rule: ProtectionRule): ProtectionEvent => ({
    type: "ProtectionApplied",
    data: { applyId, kind: "TAG", fromId, rules: [{ ruleId, rule }], appliedAt: at },
  });
  const remove = { type: "DeleteProtectionRule", ruleId, kind: "TAG", by, at } as const;

  it("is one event of the team or company", () => {
    given()
      .when({ type: "RequestApply", ...request, by, at })
      .gives({
        type: "ProtectionApplyRequested",
        data: { ...request, keepsStricter: true, requestedById: by, requestedAt: at },
      });
  });

  it("is recorded once in the stream of a project", () => {
    given().when(record(otherId, tag)).gives(applied(otherId, tag));
    given(applied(otherId, tag)).when(record(otherId, tag)).givesNothing();
  });

  it("makes the rules those of the project, which changes and deletes them like its own", () => {
    given(applied(otherId, tag)).when(create(tag)).refuses("protection.template_taken");
    given(created(tag), applied(ruleId, stricter))
      .when(remove)
      .gives({ type: "ProtectionRuleDeleted", data: { ...deleted.data, rule: stricter } });
  });

  it("reads what a worker wrote without rules", () => {
    const old: ProtectionEvent = {
      type: "ProtectionApplied",
      data: { applyId, kind: "TAG", fromId, appliedAt: at },
    };
    given(created(tag), old).when(remove).gives(deleted);
  });
});
