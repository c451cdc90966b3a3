import { expect } from "chai";
import { chainNext, chainStart, eventDigest } from "../../../src/events/core/canonical.ts";
import {
  chainBeforeEverything,
  chainHead,
  chainMarks,
  logChainProjection,
} from "../../../src/projections/audit/log-chain.ts";
import { history } from "../../support/app/history.ts";
import { context, project, reset, rewind } from "../../support/app/projection.ts";
import { sent } from "../../support/package/parcel.ts";
import { testDatabase } from "../../support/store/database.ts";

const { db } = await testDatabase();
const log = history(
  ...Array.from({ length: 2_500 }, (_, n) => [`parcel-${n % 7}`, sent(`${n}`)] as const),
);
const chainOf = (events: typeof log) =>
  events.reduce((chain, event) => chainNext(chain, eventDigest(event)), chainStart);

describe("the chain over the log", () => {
  beforeEach(() => reset(db, logChainProjection));

  it("starts with nothing", async () => {
    expect(await chainHead(db)).to.deep.equal(chainBeforeEverything);
  });

  it("is the same however the events were batched", async () => {
    for (const [from, to] of [
      [0, 1],
      [1, 999],
      [999, 1_001],
      [1_001, 2_500],
    ] as const) {
      await project(db, logChainProjection, log.slice(from, to), context);
    }
    const head = { events: 2_500n, position: 2_500n, chain: chainOf(log) };
    expect(await chainHead(db)).to.deep.equal(head);
  });

  it("keeps a mark every thousand events", async () => {
    await project(db, logChainProjection, log, context);
    expect(await chainMarks(db, 0n, 10)).to.deep.equal([
      { events: 1_000n, position: 1_000n, chain: chainOf(log.slice(0, 1_000)) },
      { events: 2_000n, position: 2_000n, chain: chainOf(log.slice(0, 2_000)) },
    ]);
    expect(await chainMarks(db, 1_000n, 10)).to.have.length(1);
  });

  it("stays as it is when the same events come again", async () => {
    await project(db, logChainProjection, log, context);
    const before = [await chainHead(db), await chainMarks(db, 0n, 10)];
    await rewind(db, logChainProjection);
    await project(db, logChainProjection, log, context);
    expect([await chainHead(db), await chainMarks(db, 0n, 10)]).to.deep.equal(before);
  });
});
