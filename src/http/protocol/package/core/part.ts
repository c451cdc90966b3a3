import { hash } from "node:crypto";
import { Readable } from "node:stream";

import type { PackageId } from "../../../../events/core/ids.ts";
import { invariant } from "../../../../platform/invariant.ts";
import { Limit } from "../../../../platform/limit.ts";
import {
  changedAfter,
  changePositions,
  filesInRange,
  nextRange,
  type PartRange,
  packagePosition,
  type RangeMax,
} from "../../../../projections/package/part.ts";
import type { ListedFile } from "../../../../projections/package/registry.ts";
import { packageNotFound } from "../../../api/package/request.ts";
import type { Answer } from "../../../core/answer.ts";
import type { Deps } from "../../../core/deps.ts";
import { cachedDocument, currentDocument } from "./document.ts";
import { ResponseBudget } from "./response-budget.ts";

type Db = Pick<Deps, "db">;

/** Of a part: making one takes some milliseconds. */
const partMax: RangeMax = { versions: 200, files: 200, metadataBytes: 1024 ** 2 };
/** Indexes of one package that are made at once, each part by part. */
const builds = new Limit({
  name: "registry.index_builds",
  total: 4,
  whenFull: "wait",
  keepsTurn: true,
});
/** Before every position. */
const beforeAll = -(2n ** 63n);
const smallBytesMax = 1024 ** 2;

/** How the index of a package is made from its files. */
export type PartForm<Summary> = Readonly<{
  /** Equal where everything is that goes into it but the files. */
  key: string;
  /** Of two files with the same, in several repositories, the first counts. */
  keyOf: (file: ListedFile) => string;
  /** Some of the files, those of a version together. `texts` are pieces of the index, empty ones included. */
  make: (files: readonly ListedFile[]) => Made<Summary>;
}>;

type Made<Summary> = Readonly<{ texts: readonly string[]; summary: Summary }>;

export type Part<Summary> = Readonly<{ texts: readonly Buffer[]; summary: Summary }>;

type RangedPart<Summary> = Part<Summary> & PartRange;
type Parts<Summary> = Readonly<{ revision: bigint; parts: readonly RangedPart<Summary>[] }>;

/**
 * The index of a package in parts of some versions each, in the order in which these were created. Only the parts
 * with versions that have changed are made anew.
 *
 * @param ids of the package in the repositories that have it, in order
 * @throws Refusal 404 when it has no files
 */
export async function partsOf<Summary>(
  ids: readonly PackageId[],
  form: PartForm<Summary>,
  deps: Db,
): Promise<readonly Part<Summary>[]> {
  const [first, ...others] = ids;
  const isOne = first !== undefined && others.length === 0;
  const parts = isOne ? await cachedParts(first, form, deps) : await mergedParts(ids, form, deps);
  if (parts.length === 0) throw packageNotFound();
  return parts;
}

async function cachedParts<Summary>(id: PackageId, form: PartForm<Summary>, deps: Db) {
  const position = await packagePosition(deps.db, id);
  if (position === undefined) return [];
  const { revision, reset_position: reset } = position;
  const key = `${form.key}:${id}`;
  const { parts } = await currentDocument<Parts<Summary>>(
    key,
    revision,
    async (last) => {
      const known = last !== undefined && last.revision >= reset ? last : undefined;
      const made = await builds.run(() => refreshed(id, known, form, deps));
      return shared({ revision, parts: made });
    },
    bytesOf,
  );
  return parts.filter(isFull);
}

/** Of each text the index that it is of: an answer that holds one keeps all of them in memory. */
const owners = new WeakMap<Buffer, Parts<unknown>>();

function shared<Summary>(made: Parts<Summary>): Parts<Summary> {
  for (const text of made.parts.flatMap(({ texts }) => texts)) owners.set(text, made);
  return made;
}

const isFull = ({ texts }: Part<unknown>): boolean => texts.some(({ length }) => length > 0);

const bytesOf = ({ parts }: Parts<unknown>): number =>
  parts.reduce((sum, part) => sum + partBytes + bytesIn(part.texts), 0);

/** Of a part beside its texts. */
const partBytes = 1_000;

const bytesIn = (texts: readonly Buffer[]): number =>
  texts.reduce((sum, { length }) => sum + length, 0);

async function refreshed<Summary>(
  id: PackageId,
  last: Parts<Summary> | undefined,
  form: PartForm<Summary>,
  { db }: Db,
): Promise<readonly RangedPart<Summary>[]> {
  const changed = last === undefined ? [] : await changedAfter(db, id, last.revision);
  const parts: RangedPart<Summary>[] = [];
  /** Makes the versions of a range, in as many parts as they need now. */
  const make = async (within: Readonly<{ after: bigint; to?: bigint }>): Promise<void> => {
    let range = await nextRange(db, id, within, partMax);
    while (range !== undefined) {
      parts.push({ ...range, ...packed(form.make(await filesInRange(db, id, range))) });
      range = await nextRange(db, id, { ...within, after: range.to }, partMax);
    }
  };
  let index = 0;
  const isChanged = ({ to }: PartRange): boolean => {
    const before = index;
    while (index < changed.length && (changed[index] ?? 0n) <= to) index += 1;
    return index > before;
  };
  for (const part of last?.parts ?? []) {
    if (isChanged(part)) await make(part);
    else parts.push(part);
  }
  // The last one grows until it is full.
  const end = parts.at(-1);
  const isGrowing = end !== undefined && index < changed.length;
  if (isGrowing) parts.pop();
  await make({ after: isGrowing ? end.after : (end?.to ?? beforeAll) });
  return parts;
}

/** Which version counts depends on all repositories: a change in one makes all parts anew. */
async function mergedParts<Summary>(
  ids: readonly PackageId[],
  form: PartForm<Summary>,
  deps: Db,
): Promise<readonly Part<Summary>[]> {
  const positions = await changePositions(deps.db, ids);
  const key = `${form.key}:${ids.map((id) => `${id}@${positions.get(id) ?? ""}`).join(",")}`;
  const { parts } = await cachedDocument<Parts<Summary>>(
    key,
    async () => {
      const made = await builds.run(() => merged(ids, form, deps));
      return shared({ revision: 0n, parts: made });
    },
    bytesOf,
  );
  return parts.filter(isFull);
}

async function merged<Summary>(
  ids: readonly PackageId[],
  form: PartForm<Summary>,
  { db }: Db,
): Promise<readonly RangedPart<Summary>[]> {
  const seen = new Map<string, PackageId>();
  const parts: RangedPart<Summary>[] = [];
  const isFirst = (file: ListedFile, id: PackageId): boolean => {
    const key = form.keyOf(file);
    const known = seen.get(key);
    if (known === undefined) seen.set(key, id);
    return known === undefined || known === id;
  };
  for (const id of ids) {
    let range = await nextRange(db, id, { after: beforeAll }, partMax);
    while (range !== undefined) {
      const files = await filesInRange(db, id, range);
      const made = packed(form.make(files.filter((file) => isFirst(file, id))));
      parts.push({ ...range, ...made });
      range = await nextRange(db, id, { after: range.to }, partMax);
    }
  }
  return parts;
}

function packed<Summary>({ texts, summary }: Made<Summary>): Part<Summary> {
  const buffers = texts.map((text) => Buffer.from(text));
  for (const buffer of buffers) hashes.set(buffer, hash("sha1", buffer));
  return { texts: buffers, summary };
}

/** Of texts of parts, so that an entity tag does not take as long as the index is large. */
const hashes = new WeakMap<Buffer, string>();

/** The texts of all parts with this number, with a separator between them. */
export function joinedParts(
  parts: readonly Part<unknown>[],
  number: number,
  separator = "",
): readonly Buffer[] {
  const between = Buffer.from(separator);
  return parts
    .map(({ texts }) => textAt(texts, number))
    .filter(({ length }) => length > 0)
    .flatMap((text, index) => (index === 0 || separator === "" ? [text] : [between, text]));
}

function textAt(texts: readonly Buffer[], number: number): Buffer {
  const text = texts[number];
  invariant(text !== undefined, "every part has the same number of texts");
  return text;
}

/** A large index is kept for as long as it is sent. */
export const indexBudget = new ResponseBudget({
  bytes: 512 * 1024 ** 2,
  callerBytes: 256 * 1024 ** 2,
});

/**
 * An index of pieces, which is neither copied nor hashed as a whole when it is large.
 *
 * @throws Refusal 503 when too many large ones are being sent
 */
export function pieceAnswer(contentType: string, pieces: readonly (string | Buffer)[]): Answer {
  const buffers = pieces.map((piece) => (typeof piece === "string" ? Buffer.from(piece) : piece));
  const digests = buffers.map((buffer) => hashes.get(buffer) ?? hash("sha1", buffer));
  const bytes = bytesIn(buffers);
  const etag = `W/"${hash("sha1", digests.join(), "base64url")}"`;
  const headers = { "Content-Type": contentType, ETag: etag };
  if (bytes <= smallBytesMax) return { status: 200, headers, body: Buffer.concat(buffers) };
  const body = Readable.from(buffers, { objectMode: false });
  indexBudget.hold(body, buffers);
  return { status: 200, headers: { ...headers, "Content-Length": String(bytes) }, body };
}
