import { expect } from "chai";
import {
  CheckCache,
  checkSignatures,
  sweepSignatureChecks,
} from "../../../src/git/signature/memory.ts";
import type { SignatureCheck } from "../../../src/git/signature/signature.ts";
import { testDatabase } from "../../support/store/database.ts";

const { db } = await testDatabase();
const now = new Date("2026-01-01T00:00:00Z");
const later = (days: number): Date => new Date(now.getTime() + days * 24 * 60 * 60_000);
const good: SignatureCheck = { kind: "good", keyId: "SHA256:a" };
const bad: SignatureCheck = { kind: "bad", keyId: "SHA256:a" };

let checked: string[] = [];
let answer: SignatureCheck = good;
const question = (objectId: string, ...keyIds: string[]) => ({
  objectId,
  keyIds,
  runCheck: async () => {
    checked.push(objectId);
    return answer;
  },
});
const rows = () => db("public.signature_check");

beforeEach(async () => {
  checked = [];
  answer = good;
  await rows().delete();
});

describe("a cached check of a signature", () => {
  it("is made by git once, for all processes", async () => {
    const questions = [question("c1", "k1"), question("c2", "k1")];
    const cache = new CheckCache();
    for (const process of [cache, cache, new CheckCache()]) {
      expect(await checkSignatures(db, questions, now, process)).to.deep.equal([good, good]);
    }
    expect(checked).to.deep.equal(["c1", "c2"]);
    expect(await rows()).to.have.length(2);
  });

  it("is made once for concurrent callers", async () => {
    const cache = new CheckCache();
    const runCheck = () => checkSignatures(db, [question("c1", "k1")], now, cache);
    await Promise.all([runCheck(), runCheck(), runCheck()]);
    expect(checked).to.deep.equal(["c1"]);
  });

  it("is used for the same object and all of the same keys, in any order", async () => {
    await checkSignatures(db, [question("c1", "k1", "k2")], now, new CheckCache());
    await checkSignatures(db, [question("c1", "k2", "k1")], now, new CheckCache());
    expect(checked).to.have.length(1);
    for (const other of [question("c1", "k1"), question("c1"), question("c2", "k1", "k2")]) {
      checked = [];
      await checkSignatures(db, [other], now, new CheckCache());
      expect(checked).to.have.length(1);
    }
  });

  for (const [what, verdict, holds, over] of [
    ["for months where a key has signed", good, 100, 181],
    ["until the key expires", { ...good, until: later(3) }, 2, 4],
    ["for hours where the signature is bad", bad, 0.9, 1.1],
    ["for hours where the key has expired", { ...bad, kind: "expired" }, 0.9, 1.1],
  ] as const) {
    it(`is kept ${what}`, async () => {
      answer = verdict;
      const cache = new CheckCache();
      await checkSignatures(db, [question("c1", "k1")], now, cache);
      for (const process of [cache, new CheckCache()]) {
        await checkSignatures(db, [question("c1", "k1")], later(holds), process);
      }
      expect(checked).to.have.length(1);
      await sweepSignatureChecks(db, later(holds));
      expect(await rows()).to.have.length(1);

      await checkSignatures(db, [question("c1", "k1")], later(over), cache);
      expect(checked).to.have.length(2);
      await rows().update({ holds_until: later(holds) });
      await sweepSignatureChecks(db, later(over));
      expect(await rows()).to.deep.equal([]);
    });
  }

  it("is not kept where git could not make it", async () => {
    for (const verdict of [
      { kind: "unsupported", program: "gpg" },
      { kind: "unfinished" },
    ] as const) {
      answer = verdict;
      const [check] = await checkSignatures(db, [question("c1", "k1")], now, new CheckCache());
      expect(check).to.deep.equal(verdict);
      expect(await rows()).to.deep.equal([]);
    }
  });
});
