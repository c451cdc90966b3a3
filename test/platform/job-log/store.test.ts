import { randomUUID } from "node:crypto";
import { expect } from "chai";

import { maskedForms } from "../../../src/platform/job-log/mask.ts";
import {
  appendLog,
  beginRun,
  closeLog,
  findRun,
  giveUpRun,
  readLog,
  sealRun,
  sealWholeRuns,
} from "../../../src/platform/job-log/store.ts";
import { longestTurnMs } from "../../support/app/longest-turn.ts";
import { testDatabase } from "../../support/store/database.ts";

const { db } = await testDatabase();

async function givenRun() {
  const key = { job_id: randomUUID(), attempt: 1 };
  const others = { project_id: randomUUID(), agent_id: randomUUID(), token_hash: "hash" };
  await beginRun(db, { ...key, ...others, contact_at: new Date(), given_position: 1n });
  return key;
}

async function shown(key: Awaited<ReturnType<typeof givenRun>>, first = 0, last?: number) {
  const run = await findRun(db, key);
  const end = last ?? Number(run?.stored ?? 0n) - 1;
  const parts: Buffer[] = [];
  for await (const part of readLog(db, key, { first, last: end })) parts.push(part);
  return Buffer.concat(parts).toString();
}

const piece = (first: number, text: string) => ({ first, data: Buffer.from(text), forms: [] });

describe("a run that its agent has not confirmed", () => {
  const at = new Date("2026-01-02T03:04:05.678Z");
  const run = (token_hash: string) => {
    const ids = { project_id: randomUUID(), agent_id: randomUUID() };
    return { ...ids, token_hash, contact_at: new Date() };
  };

  it("is given up by its own token, also once more, and not once it was confirmed", async () => {
    const key = await givenRun();
    expect(await giveUpRun(db, { ...key, ...run("other") }, at)).to.equal(false);
    expect((await findRun(db, key))?.over_at).to.equal(null);
    expect(await giveUpRun(db, { ...key, ...run("hash") }, at)).to.equal(true);
    expect(await giveUpRun(db, { ...key, ...run("hash") }, new Date())).to.equal(true);
    expect((await findRun(db, key))?.over_at).to.deep.equal(at);
    const confirmed = await givenRun();
    await db("public.job_run").where(confirmed).update({ confirmed_at: at });
    expect(await giveUpRun(db, { ...confirmed, ...run("hash") }, at)).to.equal(false);
    expect((await findRun(db, confirmed))?.over_at).to.equal(null);
  });

  it("is given up before it is noted, and stays so", async () => {
    const key = { job_id: randomUUID(), attempt: 1 };
    for (const token_hash of ["one", "two"]) {
      expect(await giveUpRun(db, { ...key, ...run(token_hash) }, at)).to.equal(true);
      await beginRun(db, { ...key, ...run(token_hash), given_position: 1n });
      expect(await findRun(db, key)).to.include({ token_hash, confirmed_at: null });
      expect((await findRun(db, key))?.over_at).to.deep.equal(at);
    }
    await beginRun(db, { ...key, ...run("three"), given_position: 2n });
    expect(await findRun(db, key)).to.include({ token_hash: "three", over_at: null });
  });
});

describe("a run that is noted late", () => {
  const noted = { attempt: 1, project_id: randomUUID(), agent_id: randomUUID() };
  const [early, late] = [new Date("2026-01-02T03:00:00Z"), new Date("2026-01-02T04:00:00Z")];

  for (const [clocks, contact_at, contactOfLater] of [
    ["in step", early, late],
    ["an hour apart", late, early],
  ] as const) {
    it(`leaves that of the agent that got the job later, by clocks ${clocks}`, async () => {
      const first = { token_hash: "first", contact_at, given_position: 5n };
      const later = { token_hash: "later", contact_at: contactOfLater, given_position: 9n };
      for (const order of [
        [first, later],
        [later, first],
      ]) {
        const key = { ...noted, job_id: randomUUID() };
        for (const run of order) await beginRun(db, { ...key, ...run });
        const kept = await findRun(db, { job_id: key.job_id, attempt: 1 });
        expect(kept).to.include({ token_hash: "later" });
      }
    });
  }

  it("replaces one that a process of an earlier release noted", async () => {
    const key = { ...noted, job_id: randomUUID() };
    await db("public.job_run").insert({ ...key, token_hash: "first", contact_at: late });
    await beginRun(db, { ...key, token_hash: "later", contact_at: early, given_position: 1n });
    expect(await findRun(db, { job_id: key.job_id, attempt: 1 })).to.include({
      token_hash: "later",
    });
  });
});

describe("a run that a process of an earlier release began", () => {
  it("is not given up, since an event confirms it", async () => {
    const key = { job_id: randomUUID(), attempt: 1 };
    const of = { ...key, project_id: randomUUID(), agent_id: randomUUID(), token_hash: "hash" };
    const contact_at = new Date();
    await db("public.job_run").insert({ ...of, contact_at });
    expect(await giveUpRun(db, { ...of, contact_at }, contact_at)).to.equal(false);
    expect((await findRun(db, key))?.over_at).to.equal(null);
  });
});

describe("the log of a run", () => {
  it("is read as it was appended, whole and in part", async () => {
    const key = await givenRun();
    await appendLog(db, key, piece(0, "one "));
    expect(await appendLog(db, key, piece(4, "two "))).to.deep.equal({ fits: true, received: 8 });
    await appendLog(db, key, piece(8, "three"));
    expect(await shown(key)).to.equal("one two three");
    expect(await shown(key, 2, 9)).to.equal("e two th");
    expect(await shown(key, 13, 20)).to.equal("");
  });

  it("is masked beside other work when it is made to take long", async () => {
    const key = await givenRun();
    const forms = await maskedForms(Array.from({ length: 100 }, (_, n) => "a".repeat(8 + n)));
    const text = "a".repeat(768 * 1024);
    const append = () => appendLog(db, key, { ...piece(0, text), forms });
    expect(await longestTurnMs(append)).to.be.below(500);
    await closeLog(db, (await findRun(db, key))!, forms);
    expect(await shown(key)).not.to.contain("a");
  });

  it("takes equal pieces at one moment once, and pieces at another place never", async () => {
    const key = await givenRun();
    const all = await Promise.all([1, 2, 3, 4].map(() => appendLog(db, key, piece(0, "text"))));
    expect(all.filter(({ fits }) => fits)).to.have.length(1);
    expect(all.every(({ received }) => received === 4)).to.equal(true);
    expect((await appendLog(db, key, piece(5, "x"))).fits).to.equal(false);
    expect(await shown(key)).to.equal("text");
  });

  it("is cut once at the limit, by a line, while offsets go on", async () => {
    const key = await givenRun();
    const append = (first: number, text: string) =>
      appendLog(db, key, { ...piece(first, text), bytesMax: 6 });
    await append(0, "1234");
    await append(4, "5678");
    expect(await append(8, "90")).to.deep.equal({ fits: true, received: 10 });
    await closeLog(db, { ...key, tail: Buffer.from("0") }, [], { bytesMax: 6 });
    expect(await shown(key)).to.match(/^123456\n\[The log is longer than [^\n]+\]\n$/);
  });

  it("is closed without a statement where nothing is held back and no line is added", async () => {
    const key = await givenRun();
    const statements: string[] = [];
    const note = ({ sql }: Readonly<{ sql: string }>) => statements.push(sql);
    db.on("query", note);
    await closeLog(db, { ...key, tail: Buffer.alloc(0) }, []);
    expect(statements).to.deep.equal([]);
    await closeLog(db, { ...key, tail: Buffer.alloc(0) }, [], { ending: "released" });
    db.off("query", note);
    expect(await shown(key)).to.equal("\nreleased\n");
  });

  it("is sealed with others by one statement, unless something is held back", async () => {
    const [whole, held, sealed] = [await givenRun(), await givenRun(), await givenRun()];
    for (const key of [whole, held]) await appendLog(db, key, piece(0, "text"));
    await db("public.job_run")
      .where(held)
      .update({ tail: Buffer.from("t") });
    const at = new Date();
    await sealRun(db, sealed, at);
    const now = await sealWholeRuns(db, [whole, held, sealed], at);
    expect(now.map(({ job_id, stored }) => [job_id, stored])).to.deep.equal([[whole.job_id, 4n]]);
    expect((await appendLog(db, whole, piece(4, "more"))).fits).to.equal(false);
    expect((await appendLog(db, held, piece(4, "more"))).fits).to.equal(true);
  });

  it("of an unknown run takes nothing", async () => {
    const key = { job_id: randomUUID(), attempt: 1 };
    expect(await appendLog(db, key, piece(0, "x"))).to.deep.equal({ fits: false, received: 0 });
  });
});
