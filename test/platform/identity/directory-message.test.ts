import { Readable } from "node:stream";
import { expect } from "chai";

import { joinMessages } from "../../../src/platform/identity/directory-message.ts";

function message(bytes: number, lengthBytes: 0 | 1 | 2 | 4): Buffer {
  const content = Buffer.alloc(bytes, bytes % 251);
  if (lengthBytes === 0) return Buffer.concat([Buffer.from([0x30, bytes]), content]);
  const length = Buffer.alloc(lengthBytes);
  length.writeUIntBE(bytes, 0, lengthBytes);
  return Buffer.concat([Buffer.from([0x30, 0x80 + lengthBytes]), length, content]);
}

/** A connection, what it hands on, and why it was destroyed. */
function given(bytesMax: number) {
  const socket = new Readable({ read: () => undefined });
  joinMessages(socket, bytesMax);
  const seen: Buffer[] = [];
  const failures: string[] = [];
  socket.on("data", (each: Buffer) => seen.push(each));
  socket.on("error", ({ message: text }) => failures.push(text));
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  return { socket, seen, failures, settled };
}

describe("messages of a directory", () => {
  const messages = [
    ...[message(5, 0), message(0, 0), message(200, 1), message(3_000, 2), message(70_000, 4)],
    ...Array.from({ length: 2_000 }, (_, at) => message(at % 128, 0)),
  ];
  const all = Buffer.concat(messages);

  for (const size of [1, 2, 7, 2_048, all.length]) {
    it(`are handed on whole, one by one, where they come in pieces of ${size}`, async () => {
      const { socket, seen, settled } = given(all.length);
      for (let start = 0; start < all.length; start += size) {
        socket.push(all.subarray(start, start + size));
      }
      await settled();
      expect(seen.length).to.equal(messages.length);
      expect(seen.every((each, at) => messages[at]?.equals(each) === true)).to.equal(true);
    });
  }

  it("take a time that grows with their length, however small the pieces are", () => {
    const { socket } = given(2 ** 20);
    const large = message(2 ** 20 - 10, 4);
    const began = performance.now();
    for (let at = 0; at < large.length; at += 1) socket.push(large.subarray(at, at + 1));
    expect(performance.now() - began).to.be.below(3_000);
  });

  it("end the connection where they are too much together, before they are whole", async () => {
    const { socket, seen, failures, settled } = given(1_000);
    socket.push(message(900, 2).subarray(0, 800));
    socket.push(Buffer.alloc(300));
    await settled();
    expect([seen, failures]).to.deep.equal([[], ["The directory answered too much."]]);
  });

  it("are handed on as they are where they have no length of LDAP", async () => {
    for (const first of [0x80, 0x85]) {
      const { socket, seen, settled } = given(1_000);
      const broken = Buffer.from([0x30, first, 1, 2, 3]);
      socket.push(broken);
      await settled();
      expect(seen).to.deep.equal([broken]);
    }
  });
});
