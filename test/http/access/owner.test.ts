import { expect } from "chai";

import { ownsByNow } from "../../../src/http/access/owner.ts";
import { Refusal } from "../../../src/platform/refusal.ts";
import { refused } from "../../support/app/refused.ts";

type Deps = Parameters<typeof ownsByNow>[0];

/** Deps of which only the wait for the read models is reached. */
const failing = (error: Error) =>
  ({
    store: { head: async () => 7n },
    visible: async () => Promise.reject(error),
  }) as never as Deps;

describe("whether something belongs to an owner by now", () => {
  it("is refused as not known while the read models lag", async () => {
    const lagging = new Refusal("unavailable", "projection.lagging", "The read models lag.");
    const owns = ownsByNow(failing(lagging));
    await refused(() => owns("an owner"), "projection.lagging", "What still belongs to it");
  });

  it("fails with any other error as it is", async () => {
    const owns = ownsByNow(failing(new Error("connection lost")));
    await expect(owns("an owner")).to.be.rejectedWith("connection lost");
  });
});
