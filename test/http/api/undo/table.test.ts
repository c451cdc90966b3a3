import { expect } from "chai";
import { slices } from "../../../../src/events/all.ts";
import type { EventSchemas } from "../../../../src/events/core/event.ts";
import { inverses } from "../../../../src/http/api/undo/inverses.ts";
import { reasonFor } from "../../../../src/http/api/undo/reasons.ts";

const types = Object.values<EventSchemas>(slices).flatMap((schemas) => Object.keys(schemas));

describe("every event type", () => {
  for (const type of types) {
    it(`${type} has an inverse, or a reason why it has none`, () => {
      const answer = inverses[type] ?? reasonFor(type);
      expect(answer).to.not.equal(undefined);
    });
  }
});

describe("the table of inverses", () => {
  it("names only events that there are", () => {
    for (const type of Object.keys(inverses)) expect(types).to.include(type);
  });
});
