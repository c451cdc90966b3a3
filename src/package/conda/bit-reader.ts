import { badFile } from "../core/coordinates.ts";

/** Reads bits, the highest of a byte first, from bytes that are added while it reads. */
export class BitReader {
  #bytes = Buffer.alloc(0);
  #at = 0;
  #value = 0;
  #left = 0;

  /** Bytes that were added and not read. */
  get bytesLeft(): number {
    return this.#bytes.length - this.#at;
  }

  add(bytes: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes.subarray(this.#at), bytes]);
    this.#at = 0;
  }

  /** @param count at most 24 @throws Refusal 422 after the last bit */
  bits(count: number): number {
    while (this.#left < count) {
      const byte = this.#bytes[this.#at];
      if (byte === undefined) throw badFile("Its bzip2 is cut.");
      this.#at += 1;
      // What was read has left through the top of the 32 bits.
      this.#value = (this.#value << 8) | byte;
      this.#left += 8;
    }
    this.#left -= count;
    return (this.#value >>> this.#left) & ((1 << count) - 1);
  }

  /** Skips to the next whole byte. */
  align(): void {
    this.#left -= this.#left % 8;
  }
}
