import { expect } from "chai";

import type { Decider } from "../../../src/commands/core/decider.ts";
import { Refusal } from "../../../src/platform/refusal.ts";

/** given(past).when(command).gives(events), for any decider. */
export function specify<State, Command, Event>(decider: Decider<State, Command, Event>) {
  return (...past: readonly Event[]) => ({
    when(command: Command) {
      const state = past.reduce(decider.evolve, decider.initialState);
      return {
        gives: (...expected: readonly Event[]) =>
          expect(decider.decide(state, command)).to.deep.equal(expected),
        givesNothing: () => expect(decider.decide(state, command)).to.deep.equal([]),
        refuses(code: string) {
          try {
            decider.decide(state, command);
          } catch (error) {
            if (!(error instanceof Refusal)) throw error;
            return expect(error.code).to.equal(code);
          }
          return expect.fail(`expected a refusal: ${code}`);
        },
      };
    },
  });
}
