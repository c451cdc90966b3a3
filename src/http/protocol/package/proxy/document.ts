import { pipeline, Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import type { Context } from "koa";
import { LRUCache } from "lru-cache";

import { BlobMissing } from "../../../../platform/blob/store.ts";
import type { Hold } from "../../../../platform/limit.ts";
import { Refusal } from "../../../../platform/refusal.ts";
import { timeoutSignal } from "../../../../platform/time/timeout-signal.ts";
import type { Deps } from "../../../core/deps.ts";
import {
  type CachedContent,
  type CacheKey,
  findCached,
  findFirstCached,
  keep,
  noteCheck,
  roomToKeep,
} from "./cached-content.ts";
import { documentBudget, documentsFor } from "./document-budget.ts";
import {
  failed,
  notThere,
  type ProxyRepository,
  requestUpstream,
  type Upstream,
  UpstreamDown,
  type UpstreamLogin,
} from "./upstream.ts";

/** An index of an external registry. */
export type Document = Readonly<{
  bytes: Buffer;
  type: string;
  /** Of what is kept. */
  sha256?: string;
}>;

export type DocumentAt = Readonly<{
  /** What it is kept under. */
  path: string;
  url: string;
  accept: string;
  login?: UpstreamLogin;
  /** Holds what came against what it has to be, before it is kept. @throws HttpRefusal 502 */
  mustFit?: (document: Document) => Promise<void>;
  /** Of answers that there are without end: they are not kept. */
  isPassing?: boolean;
  /** Given where larger ones are read in a process. */
  bytesMax?: number;
}>;

/** What is read where it is must not hold up others; see DocumentAt. */
const bytesMaxDefault = 16 * 1024 ** 2;
/** A fetch takes so much beside what comes. */
const fetchBytes = 512 * 1024;
const totalMs = 120_000;
/** For so long a failed registry is not queried for documents that are kept, or for the one that failed. */
const pauseMs = 15_000;
/** Failures in a row after which a registry counts as failed: any client may request a name that fails. */
const failuresMax = 3;
/** Time for which the absence of a document is cached. */
const absentMs = 20_000;
const rememberedMax = 10_000;

const running = new Map<string, Promise<Document>>();
/** Names of what failed lately. */
const failedNames = new LRUCache<string, true>({ max: rememberedMax, ttl: pauseMs });
/** By `servingOf`, the names for which it did not answer since it last did. */
const unanswered = new LRUCache<string, ReadonlySet<string>>({ max: rememberedMax, ttl: pauseMs });
const absent = new LRUCache<string, true>({ max: rememberedMax, ttl: absentMs });

/** For whom a document is read: the memory for it is held until the answer to them is sent. */
export type DocumentContext = Readonly<{ proxy: ProxyRepository; ctx: Pick<Context, "res"> }>;

/**
 * A document of an external registry: the kept one when it is young enough, else fetched again; concurrent
 * requests for one document cause one fetch. While the registry fails, or may not be queried, the old one serves.
 *
 * @throws Refusal 404, 503 `registry.busy`; HttpRefusal 502
 */
export async function upstreamDocument(
  { proxy, ctx }: DocumentContext,
  at: DocumentAt,
  deps: Deps,
): Promise<Document> {
  const place = { repositoryId: proxy.id, path: at.path };
  const cached = at.isPassing === true ? undefined : await findCached(deps.db, place);
  const hold = documentsFor(ctx);
  if (cached !== undefined && isFresh(proxy, place, cached, deps)) {
    hold.reach(hold.amount + Number(cached.bytes));
    const document = await cachedDocument(cached, deps);
    if (document !== undefined) return document;
  }
  if (proxy.settings.isOffline) throw notThere();
  // Changed settings may lead to another registry, with other rights.
  const key = JSON.stringify([proxy.id, at, proxy.settings]);
  if (absent.has(key)) throw notThere();
  if (at.isPassing === true && isPaused(servingOf(proxy, at), place)) {
    throw new UpstreamDown("The external registry did not answer a moment ago.");
  }
  let document = running.get(key);
  if (document === undefined) {
    document = fetched(proxy, { at, place, cached, key }, deps).finally(() => running.delete(key));
    running.set(key, document);
  }
  const found = await document;
  hold.reach(hold.amount + found.bytes.length);
  return found;
}

/**
 * The same as it is kept, where it is young enough, without being read into memory.
 *
 * @returns undefined when it has to be fetched
 */
export async function cachedStream(
  proxy: ProxyRepository,
  { path }: Pick<DocumentAt, "path">,
  deps: Deps,
): Promise<Readonly<{ body: Readable; bytes: number }> | undefined> {
  const place = { repositoryId: proxy.id, path };
  const cached = await findCached(deps.db, place);
  if (cached === undefined || !isFresh(proxy, place, cached, deps)) return undefined;
  try {
    return { body: await deps.blobs.read(cached.sha256), bytes: Number(cached.bytes) };
  } catch (error) {
    if (error instanceof BlobMissing) return undefined;
    throw error;
  }
}

/**
 * The digest of the first of these documents that is kept and young enough to be served.
 *
 * @param paths what each is kept under
 */
export async function cachedDigest(
  proxy: ProxyRepository,
  paths: readonly string[],
  deps: Deps,
): Promise<Readonly<{ path: string; sha256: string | undefined }> | undefined> {
  const found = await findFirstCached(deps.db, proxy.id, paths);
  if (found === undefined) return undefined;
  const { path, cached } = found;
  const isGood = isFresh(proxy, { repositoryId: proxy.id, path }, cached, deps);
  return { path, sha256: isGood ? cached.sha256 : undefined };
}

function isFresh(
  { id, settings }: ProxyRepository,
  place: CacheKey,
  { checked_at }: CachedContent,
  { now }: Deps,
): boolean {
  const { isOffline, metadataRetrievalIntervalSeconds: seconds } = settings;
  const isYoung = now().getTime() - checked_at.getTime() < seconds * 1_000;
  return isOffline || isYoung || isPaused(id, place);
}

/** A registry may search by another service than it serves its documents by: each is paused alone. */
const servingOf = ({ id }: ProxyRepository, { isPassing = false }: DocumentAt): string =>
  isPassing ? `${id} passing` : id;

const isPaused = (serving: string, place: CacheKey): boolean =>
  (unanswered.get(serving)?.size ?? 0) >= failuresMax || failedNames.has(nameOf(place));

const nameOf = ({ repositoryId, path }: CacheKey): string => `${repositoryId} ${path}`;

type Fetch = Readonly<{
  at: DocumentAt;
  place: CacheKey;
  cached: CachedContent | undefined;
  key: string;
}>;

async function fetched(proxy: ProxyRepository, fetch: Fetch, deps: Deps): Promise<Document> {
  const hold = documentBudget.take(fetchBytes + Number(fetch.cached?.bytes ?? 0));
  try {
    return await fetchedInto(hold, proxy, fetch, deps);
  } finally {
    hold.leave();
  }
}

async function fetchedInto(
  hold: Hold,
  proxy: ProxyRepository,
  { at, place, cached, key }: Fetch,
  deps: Deps,
): Promise<Document> {
  const old = cached && (await cachedDocument(cached, deps));
  const serving = servingOf(proxy, at);
  try {
    const isKnown = old !== undefined && cached !== undefined && cached.etag !== "";
    const condition = isKnown ? { "if-none-match": cached.etag } : {};
    const headersSent = { accept: at.accept, ...condition };
    const request = { url: at.url, headers: headersSent, login: at.login };
    const signal = timeoutSignal(totalMs);
    const { status, headers, body } = await requestUpstream(proxy, request, signal, deps);
    if (status === 304) {
      body.destroy();
      if (old === undefined) throw failed("The external registry answered 304 to no condition.");
      await noteCheck(deps.db, place);
      return old;
    }
    const bytesMax = at.bytesMax ?? bytesMaxDefault;
    const bytes = await wholeOf({ body, headers }, bytesMax, hold);
    const type = headers["content-type"] ?? "application/octet-stream";
    await at.mustFit?.({ bytes, type });
    // What finds no room is fetched again each time.
    const room = at.isPassing === true ? undefined : await roomToKeep(proxy, bytes.length, deps);
    if (room !== undefined) {
      const blob = await deps.blobs.putPlain(Readable.from([bytes]), { bytesMax, room });
      await keep(deps.db, place, { blob, type, etag: headers["etag"] ?? "" });
    }
    unanswered.delete(serving);
    failedNames.delete(nameOf(place));
    return { bytes, type };
  } catch (error) {
    const kind = error instanceof Refusal ? error.kind : undefined;
    if (kind === "not_found") {
      unanswered.delete(serving);
      absent.set(key, true);
      throw error;
    }
    // A lack of room is no failure of the registry.
    if (kind !== "unavailable") failedNames.set(nameOf(place), true);
    if (error instanceof UpstreamDown) noteUnanswered(serving, nameOf(place));
    if (old !== undefined) return old;
    throw error;
  }
}

/**
 * Some of NuGet's documents are always compressed, whatever was requested. Their decompressed size is bounded as well.
 *
 * @throws HttpRefusal 502 when it is too large, encoded otherwise, or breaks off; Refusal 503 `registry.busy`
 */
async function wholeOf(
  { body, headers }: Pick<Upstream, "body" | "headers">,
  bytesMax: number,
  hold: Hold,
): Promise<Buffer> {
  const encoding = headers["content-encoding"] ?? "identity";
  const isKnown = encoding === "identity" || encoding === "gzip";
  if (!isKnown || Number(headers["content-length"] ?? 0) > bytesMax) {
    body.on("error", () => undefined).destroy();
    throw failed("The external registry sends what was not requested, or too much.");
  }
  const content = encoding === "gzip" ? unpacked(body) : body;
  const chunks: Buffer[] = [];
  const held = hold.amount;
  let length = 0;
  try {
    for await (const chunk of content as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > bytesMax) break;
      hold.reach(held + length);
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw failed("The answer of the external registry broke off.");
  }
  if (length > bytesMax) throw failed(`The external registry sends over ${bytesMax} bytes.`);
  return Buffer.concat(chunks);
}

/** Fails as its source does; ends its source when it is left. */
function unpacked(body: Readable): Readable {
  const gunzip = createGunzip();
  pipeline(body, gunzip, () => undefined);
  return gunzip;
}

async function cachedDocument({ sha256, content_type: type }: CachedContent, { blobs }: Deps) {
  try {
    const chunks: Buffer[] = [];
    for await (const chunk of await blobs.read(sha256)) chunks.push(chunk as Buffer);
    return { bytes: Buffer.concat(chunks), type, sha256 };
  } catch (error) {
    if (error instanceof BlobMissing) return undefined;
    throw error;
  }
}

function noteUnanswered(serving: string, name: string): void {
  const names = unanswered.get(serving) ?? new Set();
  if (names.size < failuresMax || names.has(name)) {
    unanswered.set(serving, new Set([...names, name]));
  }
}
