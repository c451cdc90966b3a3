import { hash } from "node:crypto";
import type { Recorded } from "./event.ts";

/**
 * JSON with one form for one value: members sorted by their names, no white space, numbers as
 * JavaScript writes them (RFC 8785).
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value) ?? "null";
  const members = value as Readonly<Record<string, unknown>>;
  let text = "{";
  for (const [name, start] of sortedMembers(members)) {
    const member = members[name];
    if (member === undefined) continue;
    text += text === "{" ? start : `,${start}`;
    text += typeof member === "string" ? JSON.stringify(member) : canonicalJson(member);
  }
  return `${text}}`;
}

/** Name of a member, and the same as it stands before its value. */
type Member = readonly [name: string, start: string];

type Order = Readonly<{ names: readonly string[]; members: readonly Member[] }>;

const orders = new Map<string, Order>();
/** Events have some hundreds of different sets of names; those within texts of users may be any. */
const ordersMax = 2_000;
const orderNamesMax = 40;
/** Characters of all names: users choose those of some objects, of any length. */
const orderLengthMax = 2_000;

/** Sorting the names and writing them takes longer than all else, and they are the same in event after event. */
function sortedMembers(members: Readonly<Record<string, unknown>>): readonly Member[] {
  const names = Object.keys(members);
  if (names.length > orderNamesMax) return ordered(names);
  const joined = names.join();
  if (joined.length > orderLengthMax) return ordered(names);
  const known = orders.get(joined);
  // Names that hold commas may look like others.
  if (known !== undefined && names.every((name, index) => name === known.names[index])) {
    return known.members;
  }
  if (orders.size >= ordersMax) orders.clear();
  const order = { names, members: ordered(names) };
  orders.set(joined, order);
  return order.members;
}

const ordered = (names: readonly string[]): readonly Member[] =>
  [...names].sort().map((name) => [name, `${JSON.stringify(name)}:`]);

/**
 * SHA-256 of what an event says and where it stands in its stream. Not of its position and time of
 * storage: those belong to the store, and a log that was moved to another must still verify.
 */
export function eventDigest(event: Recorded): Buffer {
  const known = digests.get(event);
  if (known !== undefined) return known;
  const { id, stream, revision, type, data, metadata } = event;
  const fields = { data, id, metadata, revision: String(revision), stream, type };
  const digest = hash("sha256", canonicalJson(fields), "buffer");
  digests.set(event, digest);
  return digest;
}

/** The audit, the chain and the tree need the same event's, one after another. */
const digests = new WeakMap<Recorded, Buffer>();

/** What a chain starts from. */
export const chainStart: Buffer = Buffer.alloc(32);

/** SHA-256 of the chain so far and the next event's digest: any change before shows in all after. */
export function chainNext(chain: Buffer, digest: Buffer): Buffer {
  return hash("sha256", Buffer.concat([chain, digest]), "buffer");
}
