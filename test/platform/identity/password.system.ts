import { expect } from "chai";
import { hashPassword, verifyPassword } from "../../../src/platform/identity/password.ts";

describe("passwords", () => {
  it("verify against their own hash only", async () => {
    const hash = await hashPassword("correct horse");
    expect(await verifyPassword("correct horse", hash)).to.equal(true);
    expect(await verifyPassword("correct horsE", hash)).to.equal(false);
    expect(await verifyPassword("", hash)).to.equal(false);
  });

  it("hash differently each time, and say with which settings", async () => {
    const [first, second] = await Promise.all([hashPassword("same"), hashPassword("same")]);
    expect(first).not.to.equal(second);
    expect(first).to.match(/^scrypt\$32768\$8\$3\$[\w-]{22}\$[\w-]{43}$/);
  });

  it("are the same in composed and decomposed unicode", async () => {
    const hash = await hashPassword("caf\u00e9 noir");
    expect(await verifyPassword("cafe\u0301 noir", hash)).to.equal(true);
  });

  it("do the same work when there is nothing to compare with", async () => {
    const worked = async (hash: string | null) => {
      const before = process.cpuUsage();
      expect(await verifyPassword("guess", hash)).to.equal(false);
      const { user, system } = process.cpuUsage(before);
      return user + system;
    };
    const hash = await hashPassword("real");
    // What runs beside it takes memory bandwidth away, now from the one and now from the other.
    let [withHash, without] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
    for (let turn = 0; turn < 3; turn += 1) {
      withHash = Math.min(withHash, await worked(hash));
      without = Math.min(without, await worked(null));
    }
    expect(without / withHash).to.be.within(0.4, 2.5);
  });

  it("wait their turn when many come at once, and all get an answer", async () => {
    const hash = await hashPassword("turn");
    const answers = await Promise.all(
      ["turn", "no", "turn", "no", "turn"].map((guess) => verifyPassword(guess, hash)),
    );
    expect(answers).to.deep.equal([true, false, true, false, true]);
  });
});
