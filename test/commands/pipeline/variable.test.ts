import { expect } from "chai";

import { pipelineVariable, variablesMax } from "../../../src/commands/pipeline/variable.ts";
import type { EventOf } from "../../../src/events/core/event.ts";
import { Sealed } from "../../../src/events/core/sealed.ts";
import type { pipelineVariableEvents } from "../../../src/events/pipeline/variable.ts";
import { deterministicId } from "../../../src/platform/deterministic-id.ts";
import { projectId, userId } from "../../support/agent/pipeline.ts";
import { specify } from "../../support/app/decider.ts";
import { at } from "../../support/app/history.ts";
import { leastOf, processorMs } from "../../support/app/measure.ts";

type PipelineVariableEvent = EventOf<typeof pipelineVariableEvents>;

const given = specify(pipelineVariable);
const settings = {
  key: "TOKEN",
  value: Sealed.parse("sealed.project-1.AAAA"),
  environmentScope: null,
  masked: true,
  protected: false,
  kind: "VARIABLE",
  description: null,
} as const;
const idOf = (name: string) => deterministicId("variable", name);
const within = (name: string) =>
  ({ variableId: idOf(name), parentId: projectId, parentType: "PROJECT" }) as const;
const created = (name: string, change = {}): PipelineVariableEvent => ({
  type: "PipelineVariableCreated",
  data: {
    ...within(name),
    settings: { ...settings, ...change },
    createdById: userId,
    createdAt: at,
  },
});
const deleted: PipelineVariableEvent = {
  type: "PipelineVariableDeleted",
  data: { ...within("a"), key: "TOKEN", deletedById: userId, deletedAt: at },
};

describe("a pipeline variable", () => {
  const create = { type: "CreateVariable", ...within("a"), settings, by: userId, at } as const;

  it("is created once", () => {
    given().when(create).gives(created("a"));
    given(created("a")).when(create).givesNothing();
  });

  it("has a key of its own for its environments", () => {
    given(created("b")).when(create).refuses("variable.exists");
    given(created("b", { environmentScope: "prod" }))
      .when(create)
      .gives(created("a"));
    given(created("a"), deleted, created("b"))
      .when({
        type: "ChangeVariable",
        ...within("b"),
        change: { description: "x" },
        by: userId,
        at,
      })
      .gives({
        type: "PipelineVariableChanged",
        data: {
          ...within("b"),
          settings: { ...settings, description: "x" },
          changedById: userId,
          changedAt: at,
        },
      });
    given(created("a"), created("b", { key: "OTHER" }))
      .when({ type: "ChangeVariable", ...within("b"), change: { key: "TOKEN" }, by: userId, at })
      .refuses("variable.exists");
  });

  it("is one of a bounded number", () => {
    const many = Array.from({ length: variablesMax }, (_, n) => created(`v${n}`, { key: `V${n}` }));
    given(...many)
      .when(create)
      .refuses("variable.too_many");
  });

  it("has a value that fits beside those of all others", () => {
    const large = (name: string, length: number) =>
      created(name, { key: name, value: Sealed.parse(`sealed.project-1.${"A".repeat(length)}`) });
    const all = Array.from({ length: 16 }, (_, n) => large(`v${n}`, 98_000));
    const value = Sealed.parse(`sealed.project-1.${"A".repeat(8_000)}`);
    given(...all)
      .when(create)
      .gives(created("a"));
    given(...all)
      .when({ ...create, settings: { ...settings, value } })
      .refuses("variable.too_large");
    const change = { type: "ChangeVariable", by: userId, at } as const;
    given(...all, created("a"))
      .when({ ...change, ...within("a"), change: { value } })
      .refuses("variable.too_large");
    given(...all, created("a"), large("more", 98_000))
      .when({ ...change, ...within("a"), change: { masked: false } })
      .gives({
        type: "PipelineVariableChanged",
        data: {
          ...within("a"),
          settings: { ...settings, masked: false },
          changedById: userId,
          changedAt: at,
        },
      });
  });

  it("is read in a time that grows with the number of its changes", async () => {
    const gone = (name: string): PipelineVariableEvent => ({
      ...deleted,
      data: { ...deleted.data, ...within(name) },
    });
    const names = Array.from({ length: 5_000 }, (_, n) => `v${n}`);
    const events = names.flatMap((name) => [created(name), gone(name)]);
    const read = () =>
      processorMs(() => events.reduce(pipelineVariable.evolve, pipelineVariable.initialState));
    expect(await leastOf(3, read)).to.be.below(300);
    given(...events)
      .when({ type: "DeleteVariable", ...within("v7"), by: userId, at })
      .givesNothing();
  });

  it("is deleted once", () => {
    const remove = { type: "DeleteVariable", ...within("a"), by: userId, at } as const;
    given(created("a")).when(remove).gives(deleted);
    given(created("a"), deleted).when(remove).givesNothing();
    given().when(remove).refuses("variable.not_found");
  });
});
