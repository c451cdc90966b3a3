import { LRUCache } from "lru-cache";

import type { Recorded } from "./event.ts";
import { sha256 } from "./sha256.ts";

/**
 * JSON with one form for one value: members sorted by their names, no white space, numbers as
 * JavaScript writes them (RFC 8785).
 */
export function canonicalJson(value: unknown): string {
  if (typeof value === "string") return quoted(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value) ?? "null";
  const members = value as Readonly<Record<string, unknown>>;
  let text = "{";
  for (const [name, start] of sortedMembers(members)) {
    const member = members[name];
    if (member === undefined) continue;
    text += text === "{" ? start : `,${start}`;
    text += canonicalJson(member);
  }
  return `${text}}`;
}

/** ASCII without what JSON escapes. */
const plain = /^[ !#-[\]-~]*$/;

/** To look through a text takes less time than to have it looked through and copied. */
const quoted = (text: string): string => (plain.test(text) ? `"${text}"` : JSON.stringify(text));

/** Name of a member, and the same as it stands before its value. */
type Member = readonly [name: string, start: string];

type Order = Readonly<{ names: readonly string[]; members: readonly Member[] }>;

/** Events have some hundreds of different sets of names; those within texts of users may be any. */
const ordersMax = 2_000;
const orders = new LRUCache<string, Order>({ max: ordersMax });
/** The last one that begins with a name, as most objects that begin with it are alike. */
const recent = new LRUCache<string, Order>({ max: ordersMax });
const orderNamesMax = 40;
/** Characters of all names: users choose those of some objects, of any length. */
const orderLengthMax = 2_000;

/** Sorting the names and writing them takes longer than all else, and they are the same in event after event. */
function sortedMembers(members: Readonly<Record<string, unknown>>): readonly Member[] {
  const names = Object.keys(members);
  const [first = ""] = names;
  const last = recent.get(first);
  if (isOf(last, names)) return last.members;
  if (names.length > orderNamesMax) return ordered(names);
  const joined = names.join();
  if (joined.length > orderLengthMax) return ordered(names);
  const cached = orders.get(joined);
  const order = isOf(cached, names) ? cached : { names, members: ordered(names) };
  orders.set(joined, order);
  recent.set(first, order);
  return order.members;
}

/** Whether it is of these names: joined, those that hold commas may look like others. */
const isOf = (order: Order | undefined, names: readonly string[]): order is Order =>
  order?.names.length === names.length && names.every((name, index) => name === order.names[index]);

const ordered = (names: readonly string[]): readonly Member[] =>
  [...names].sort().map((name) => [name, `${JSON.stringify(name)}:`]);

/**
 * SHA-256 of what an event says and where it stands in its stream. Not of its position and time of
 * storage: those belong to the store, and a log that was moved to another must still verify. Of an event of another
 * application it is the SHA-256 of id, stream, revision and type: the client does not give the bytes that were stored.
 */
export function eventDigest(event: Recorded): Buffer {
  const cached = digests.get(event);
  if (cached !== undefined) return cached;
  const { id, stream, revision, type } = event;
  const digest =
    event.isForeign === true
      ? sha256(canonicalJson({ id, revision: String(revision), stream, type }))
      : wholeDigest(event);
  digests.set(event, digest);
  return digest;
}

/** The same of any event with its data and metadata. */
export function wholeDigest({ id, stream, revision, type, data, metadata }: Recorded): Buffer {
  const fields = { data, id, metadata, revision: String(revision), stream, type };
  return sha256(canonicalJson(fields));
}

/** The audit and the tree need the same event's, one after another. */
const digests = new WeakMap<Recorded, Buffer>();

/** What the hash chain starts from, whose ends older releases printed as marks. */
export const chainStart: Buffer = Buffer.alloc(32);

/** SHA-256 of the chain so far and the next event's digest: any change before shows in all after. */
export function chainNext(chain: Buffer, digest: Buffer): Buffer {
  return sha256(Buffer.concat([chain, digest]));
}
