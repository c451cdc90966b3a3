import { randomBytes } from "node:crypto";
import { expect } from "chai";

import { Ring } from "../../src/platform/ring.ts";

const size = 64;

/** Reads and writes as sockets do: the slot is requested after each read, however long before the next. */
class Line {
  readonly #ring = new Ring(size);
  #place = this.#ring.place();
  #isPaused = false;
  #writing: { piece: Buffer; before: Buffer } | undefined;
  #read = 0;
  written = Buffer.alloc(0);

  read(source: Buffer, bytes: number): void {
    if (this.#isPaused) return;
    const copied = source.copy(this.#place, 0, this.#read, this.#read + bytes);
    this.#read += copied;
    this.#isPaused = !this.#ring.took(copied);
    this.#place = this.#ring.place();
  }

  beginWriting(): void {
    const piece = this.#ring.piece();
    this.#writing ??= { piece, before: Buffer.from(piece) };
  }

  endWriting(): void {
    if (this.#writing === undefined) return;
    const { piece, before } = this.#writing;
    expect(piece.equals(before), "it was overwritten").to.equal(true);
    this.written = Buffer.concat([this.written, piece]);
    this.#ring.did(piece.length);
    this.#writing = undefined;
    if (this.#isPaused && this.#ring.isFree) this.#isPaused = false;
  }
}

describe("a ring of bytes", () => {
  it("gives all on in order, while a piece is being written and more is read", () => {
    for (let round = 0; round < 500; round += 1) {
      const line = new Line();
      const source = randomBytes(1_000);
      const steps = randomBytes(20_000);
      for (let step = 0; line.written.length < source.length; step += 1) {
        const chance = steps[step]!;
        if (chance < 128) line.read(source, 1 + (chance % size));
        else if (chance < 192) line.beginWriting();
        else line.endWriting();
      }
      expect(line.written.equals(source)).to.equal(true);
    }
  });

  it("reports when it is full, and when a part of it is free that is worth reading to", () => {
    const ring = new Ring(size);
    expect(ring.took(40)).to.equal(true);
    expect(ring.took(ring.place().length)).to.equal(false);

    expect(ring.place().length).to.equal(size / 4);
    ring.did(size / 4 - 1);
    expect(ring.isFree).to.equal(false);
    ring.did(1);
    expect(ring.isFree).to.equal(true);
  });
});
