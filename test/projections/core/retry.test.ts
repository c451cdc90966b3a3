import { expect } from "chai";

import { StoreUnavailable } from "../../../src/platform/event-store/event-store.ts";
import { retry } from "../../../src/projections/core/retry.ts";

/** Fails as often as there are errors, and counts the failures that are reported. */
function failing(...errors: readonly Error[]) {
  const left = [...errors];
  const reported: unknown[] = [];
  const run = async () => {
    const error = left.shift();
    if (error !== undefined) throw error;
    return "done";
  };
  return { run, reported, note: (error: unknown) => void reported.push(error) };
}

describe("what is retried", () => {
  const away = new StoreUnavailable("away");

  it("runs until a store is back", async () => {
    const { run, reported, note } = failing(away);
    expect(await retry(new AbortController().signal, run, note)).to.equal("done");
    expect(reported).to.deep.equal([away]);
  });

  it("fails at once by what does not pass", async () => {
    const { run, reported, note } = failing(new Error("malformed"));
    const failed = retry(new AbortController().signal, run, note);
    await expect(failed).to.be.rejectedWith("malformed");
    expect(reported).to.deep.equal([]);
  });

  it("fails by the last failure once it is aborted", async () => {
    const { run, reported, note } = failing(away);
    await expect(retry(AbortSignal.abort(), run, note)).to.be.rejectedWith("away");
    expect(reported).to.deep.equal([]);
  });
});
