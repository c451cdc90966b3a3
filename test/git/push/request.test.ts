import { expect } from "chai";

import { flushPacket, PacketMalformed, packet, packetAt } from "../../../src/git/pkt-line.ts";
import { PushMalformed, parsePushHead, withoutCommands } from "../../../src/git/push/request.ts";

const zero = "0".repeat(40);
const one = "1".repeat(40);
const head = (...lines: (string | Buffer)[]): Buffer =>
  Buffer.concat([...lines.map((line) => packet(line)), flushPacket]);

describe("a packet", () => {
  it("counts itself", () => {
    expect(packet("abc").toString()).to.equal("0007abc");
    expect(packetAt(Buffer.from("xx0007abc"), 2)).to.deep.include({ kind: "data", end: 9 });
    expect(packetAt(flushPacket, 0)).to.deep.equal({ kind: "flush", end: 4 });
  });

  it("may not have come in whole", () => {
    for (const text of ["", "000", "0007ab"]) {
      expect(packetAt(Buffer.from(text), 0)).to.deep.equal({ kind: "partial" });
    }
  });

  it("is refused when its length is none, or beyond git's own limit", () => {
    for (const text of ["zzzz", "-001", "fff1"]) {
      expect(() => packetAt(Buffer.from(text), 0), text).to.throw(PacketMalformed);
    }
    expect(() => packet(Buffer.alloc(65_517))).to.throw(PacketMalformed);
  });
});

describe("the head of a push", () => {
  it("names commands and capabilities", async () => {
    const { commands, capabilities } = await parsePushHead(
      head(
        `${zero} ${one} refs/heads/main\0 report-status side-band-64k agent=git/2.39`,
        `${one} ${zero} refs/tags/v1\n`,
      ),
    );
    expect(commands).to.deep.equal([
      { ref: "refs/heads/main", before: null, after: one },
      { ref: "refs/tags/v1", before: one, after: null },
    ]);
    expect([...capabilities]).to.include.members(["report-status", "side-band-64k"]);
  });

  it("has the capabilities of its first command alone", async () => {
    const words = (from: number) => Array.from({ length: 8_000 }, (_, at) => from + at).join(" ");
    const commands = Array.from({ length: 20 }, (_, at) => {
      return `${zero} ${one} refs/heads/${at}\0 ${at === 0 ? "report-status" : words(at * 8_000)}`;
    });
    const { capabilities } = await parsePushHead(head(...commands));
    expect([...capabilities].filter(Boolean)).to.deep.equal(["report-status"]);
  });

  it("may be empty, and may say where a shallow history ends", async () => {
    expect((await parsePushHead(flushPacket)).commands).to.deep.equal([]);
    const shallow = head(`shallow ${one}`, `${zero} ${one} refs/heads/a\0 x`);
    const { commands } = await parsePushHead(shallow);
    expect(commands).to.have.length(1);
  });

  for (const [what, lines] of [
    ["a ref twice", [`${zero} ${one} refs/heads/a\0`, `${zero} ${one} refs/heads/a`]],
    ["ids of two kinds", [`${zero} ${"1".repeat(64)} refs/heads/a\0`]],
    ["a certificate", ["push-cert\0 x"]],
    ["an id that is none before", [`${"-".repeat(40)} ${one} refs/heads/a\0`]],
    ["an id that is none after", [`${one} ${"HEAD".repeat(10)} refs/heads/a\0`]],
    ["a ref with a space", [`${zero} ${one} refs/heads/a b\0`]],
    ["no ref", [`${zero} ${one}\0`]],
    ["a ref too long to be named in a refusal", [`${zero} ${one} refs/${"x".repeat(5_000)}\0`]],
  ] as const) {
    it(`is refused with ${what}`, async () => {
      await expect(parsePushHead(head(...lines))).to.be.rejectedWith(PushMalformed);
    });
  }

  it("is refused when it breaks off, or requests more than anybody has", async () => {
    const whole = head(`${zero} ${one} refs/heads/a\0`);
    const broken = parsePushHead(whole.subarray(0, -4));
    await expect(broken).to.be.rejectedWith(PushMalformed, "broke off");
    const many = Array.from({ length: 100_001 }, (_, at) => `${zero} ${one} refs/heads/${at}`);
    await expect(parsePushHead(head(...many))).to.be.rejectedWith(PushMalformed, "too many");
    expect((await parsePushHead(head(...many.slice(1)))).commands).to.have.length(100_000);
  });

  it("can go on without some of its commands, with the capabilities of the first", async () => {
    const [a, b, c] = ["a", "b", "c"].map((name) => `${zero} ${one} refs/heads/${name}`);
    const parsed = head(`shallow ${one}`, `${a}\0 report-status`, `${b}`, `${c}`);
    const rest = await withoutCommands(parsed, (ref) => ref !== "refs/heads/b");
    expect(rest.equals(head(`shallow ${one}`, `${b}\0 report-status`))).to.equal(true);
  });

  it("is refused when a name is not UTF-8, and remembers how the client takes errors", async () => {
    const name = Buffer.concat([Buffer.from(`${zero} ${one} refs/heads/`), Buffer.from([0xff])]);
    const first = `${zero} ${one} refs/heads/a\0 side-band-64k`;
    await expect(parsePushHead(head(first, name)))
      .to.be.rejectedWith(PushMalformed, "UTF-8")
      .and.eventually.have.property("sideBand", true);
  });
});
