import { expect } from "chai";

import { flushPacket, packet } from "../../../src/git/pkt-line.ts";
import { PushReport, pushRefused } from "../../../src/git/push/report.ts";

const band = (number: number, payload: Buffer): Buffer =>
  packet(Buffer.concat([Buffer.from([number]), payload]));
const report = Buffer.concat([
  packet("unpack ok\n"),
  packet("ok refs/heads/main\n"),
  packet("ng refs/heads/old deletion prohibited\n"),
  flushPacket,
]);
const progress = band(2, Buffer.from("Unpacking\n"));
const whole = Buffer.concat([progress, band(1, report), flushPacket]);

describe("what receive-pack prints", () => {
  for (const size of [1, 7, 1000]) {
    it(`passes progress on and holds the report back, in pieces of ${size}`, () => {
      const reader = new PushReport(true);
      const passed: Buffer[] = [];
      for (let at = 0; at < whole.length; at += size) {
        passed.push(reader.push(whole.subarray(at, at + size)));
      }

      expect(Buffer.concat(passed).equals(progress)).to.equal(true);
      expect(Buffer.concat([...passed, reader.rest()]).equals(whole)).to.equal(true);
      expect([...reader.changedRefs()!]).to.deep.equal(["refs/heads/main"]);
    });
  }

  it("may put the report into several frames", () => {
    const reader = new PushReport(true);
    const cut = 12;
    reader.push(band(1, report.subarray(0, cut)));
    reader.push(band(1, report.subarray(cut)));
    expect([...reader.changedRefs()!]).to.deep.equal(["refs/heads/main"]);
  });

  it("is the report alone for a client without a side band", () => {
    const reader = new PushReport(false);
    expect(reader.push(report)).to.have.length(0);
    expect(reader.rest().equals(report)).to.equal(true);
    expect(reader.changedRefs()?.size).to.equal(1);
  });

  it("is not added to for a client that did not request it", () => {
    const reader = new PushReport(true);
    reader.push(flushPacket);
    const rest = reader.rest(new Map([["refs/heads/main", "protected"]]));
    expect(rest.equals(flushPacket)).to.equal(true);
  });

  it("reports that refs of a lost race were changed, when they stand where they shall", () => {
    const reader = new PushReport(false);
    const lines = [
      "unpack ok",
      "ng refs/heads/a failed to update ref",
      "ng refs/heads/b hook declined",
    ];
    reader.push(Buffer.concat([...lines.map((line) => packet(`${line}\n`)), flushPacket]));
    expect(reader.raced()).to.deep.equal(["refs/heads/a"]);
    const rest = reader.rest(new Map(), new Set(["refs/heads/a"])).toString();
    expect(rest).to.contain("ok refs/heads/a").and.contain("ng refs/heads/b hook declined");
  });

  it("says nothing when git died before it could report", () => {
    expect(new PushReport(true).changedRefs()).to.equal(undefined);
    const reader = new PushReport(true);
    reader.push(progress);
    expect(reader.changedRefs()).to.equal(undefined);
  });
});

describe("a refusal in its place", () => {
  it("is an error line or an error frame, as the client takes it", () => {
    expect(pushRefused("no", false).toString()).to.equal("000bERR no\n");
    expect(pushRefused("no", true).toString()).to.equal("0008\u0003no\n0000");
  });
});
