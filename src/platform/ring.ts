/**
 * Bytes on their way from a reader to a writer, in memory that is used again and again: buffers that are each
 * made for one piece keep the garbage collector busy.
 */
export class Ring {
  readonly #bytes: Buffer;
  /** So much has been read, and so much of it is done with, since the beginning. */
  #read = 0;
  #done = 0;
  #placeBytes = 0;

  constructor(bytes: number) {
    this.#bytes = Buffer.allocUnsafeSlow(bytes);
  }

  /** Where the next bytes are to be read to; of a full ring, where they will be once that `isFree`. */
  place(): Buffer {
    const size = this.#bytes.length;
    const at = this.#read % size;
    this.#placeBytes = Math.min(size - at, this.#free || Math.ceil(size / 4));
    return this.#bytes.subarray(at, at + this.#placeBytes);
  }

  /** Whether the last place holds nothing that is still to be written. */
  get isFree(): boolean {
    return this.#free >= this.#placeBytes;
  }

  /** So much was read to the place. @returns whether there is room for more */
  took(bytes: number): boolean {
    this.#read += bytes;
    return this.#free > 0;
  }

  /** What can be written at once; it stays as it is until it is done with. */
  piece(): Buffer {
    const at = this.#done % this.#bytes.length;
    return this.#bytes.subarray(at, at + this.#read - this.#done);
  }

  /** The piece was written, as long as it was then. */
  did(bytes: number): void {
    this.#done += bytes;
  }

  get #free(): number {
    return this.#bytes.length - (this.#read - this.#done);
  }
}
