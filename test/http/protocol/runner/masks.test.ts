import { expect } from "chai";

import { keepRun, mayRelease } from "../../../../src/http/protocol/runner/masks.ts";

type Payload = Parameters<typeof keepRun>[2];

describe("what is known of runs", () => {
  const masked = Array.from({ length: 100 }, (_, n) => `${n}`.padEnd(4_000, "s"));
  // Nothing else of it is read.
  const payload = { masked, spec: { release: null } } as unknown as Payload;
  const isKnown = (token: string) =>
    !mayRelease({ run: { token_hash: token } } as Parameters<typeof mayRelease>[0]);

  it("is that of those that began last, as far as their masks fit into memory", async () => {
    for (let n = 0; n < 60; n += 1) await keepRun(`run-${n}`, `token-${n}`, payload);
    expect([isKnown("run-59"), isKnown("run-40"), isKnown("run-0")]).to.deep.equal([
      true,
      true,
      false,
    ]);
  });
});
