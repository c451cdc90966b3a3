import { Transform } from "node:stream";

/** Lets through the bytes from `first` to `last`, both included, and then ends. */
export function sliceStream(first: number, last: number): Transform {
  let offset = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const from = Math.max(first - offset, 0);
      const to = Math.min(last + 1 - offset, chunk.length);
      offset += chunk.length;
      if (from < to) this.push(chunk.subarray(from, to));
      if (offset > last) this.push(null);
      done();
    },
  });
}
