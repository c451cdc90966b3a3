import { Refusal } from "../../platform/refusal.ts";

/** No request of the interface nests deeper than a few levels. */
const depthMax = 64;
/** A commit of 1,000 actions, the largest request, has fewer than 10,000 values. */
const valuesMax = 20_000;

const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const openArray = 0x5b;
const closeArray = 0x5d;
const openObject = 0x7b;
const closeObject = 0x7d;

/**
 * Bounds the depth and the number of values of a JSON text before it is parsed, in one pass over its
 * bytes: parsing and checking millions of small values would keep the event loop busy for seconds.
 *
 * @throws Refusal 400 `body.too_deep`, `body.too_many_values`
 */
export function checkJsonLimits(bytes: Buffer): void {
  let depth = 0;
  let values = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    switch (bytes[at]) {
      case quote:
        at = endOfText(bytes, at);
        break;
      case openArray:
      case openObject:
        depth += 1;
        values += 1;
        break;
      case closeArray:
      case closeObject:
        depth -= 1;
        break;
      case comma:
        values += 1;
        break;
    }
    if (depth > depthMax) throw tooDeep();
    if (values > valuesMax) throw tooManyValues();
  }
}

/** Index of the closing quote; the length when there is none. */
function endOfText(bytes: Buffer, start: number): number {
  for (let end = bytes.indexOf(quote, start + 1); end >= 0; end = bytes.indexOf(quote, end + 1)) {
    let before = end;
    while (bytes[before - 1] === backslash) before -= 1;
    // An even number of backslashes are escaped backslashes.
    if ((end - before) % 2 === 0) return end;
  }
  return bytes.length;
}

function tooDeep(): Refusal {
  const message = `The body nests deeper than ${depthMax} levels.`;
  return new Refusal("bad_request", "body.too_deep", message);
}

function tooManyValues(): Refusal {
  const message = `The body has more than ${valuesMax} values.`;
  return new Refusal("bad_request", "body.too_many_values", message);
}
