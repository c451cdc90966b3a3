import { BlobMissing } from "../../../../platform/blob/store.ts";
import { type Hold, Limit } from "../../../../platform/limit.ts";
import { timeoutSignal } from "../../../../platform/time/timeout-signal.ts";
import { type Answer, streamAnswer } from "../../../core/answer.ts";
import type { Deps } from "../../../core/deps.ts";
import { requestedPortion } from "../../../core/file/byte-range.ts";
import { contentTypeOf } from "../../../core/file/type.ts";
import type { RequestContext } from "../../../core/request.ts";
import { type CachedContent, findCached, keep, noteUse, roomToKeep } from "./cached-content.ts";
import { downloadBudget } from "./download-budget.ts";
import { heldBackBytes, type Promised, SharedDownload } from "./shared-download.ts";
import {
  failed,
  notThere,
  type ProxyRepository,
  requestUpstream,
  type Upstream,
  type UpstreamLogin,
} from "./upstream.ts";
import { upstreamBusy } from "./upstream-busy.ts";

export type FileAt = Readonly<{
  /** What it is kept under. */
  path: string;
  /** Of the answer. */
  fileName: string;
  url: string;
  promised: Promised | undefined;
  login?: UpstreamLogin;
}>;

type Coming = Readonly<{
  download: SharedDownload;
  /** As the external registry says. */
  bytes: number | undefined;
  /** Fails when the file does not come whole, or is not what was promised. */
  filled: Promise<void>;
}>;

/** The largest file on a slow line takes hours. */
const totalMs = 6 * 60 * 60_000;

/** Files that come or are read as they came, and those of one caller: each takes a connection and room here. */
const downloads = new Limit({
  name: "registry.fetched_files",
  total: 256,
  share: 64,
  whenFull: "refuse",
  refusal: upstreamBusy,
});

/** By proxy, settings and path: simultaneous requests for a file cause one external request. */
const running = new Map<string, Promise<Coming>>();

/**
 * A file of an external registry: what is kept, or as it comes.
 *
 * @throws Refusal 404, 503 `registry.busy`; HttpRefusal 416, 502
 */
export async function upstreamFile(
  proxy: ProxyRepository,
  at: FileAt,
  request: Pick<RequestContext, "header">,
  deps: Deps,
): Promise<Answer> {
  const place = { repositoryId: proxy.id, path: at.path };
  const cached = await findCached(deps.db, place);
  const answer = cached && (await cachedAnswer(cached, at, request, deps));
  if (cached !== undefined && answer !== undefined) {
    await noteUse(deps.db, place, cached, deps.now());
    return answer;
  }
  if (proxy.settings.isOffline) throw notThere();
  const key = JSON.stringify([proxy.id, at, proxy.settings]);
  let coming = running.get(key);
  if (coming === undefined || (await coming).download.isOver) {
    const { leave } = downloads.take();
    const ended = (): void => forget(key, own);
    const own: Promise<Coming> = begun(proxy, at, { ended, leave }, deps);
    coming = own;
    running.set(key, own);
  }
  const { download, bytes, filled } = await coming;
  const body = download.read();
  if (bytes !== undefined && bytes <= heldBackBytes) {
    // Nothing of it is sent before its end has come: it can be refused still.
    await filled.catch((error: Error) => {
      body.destroy();
      throw failed(error.message);
    });
  }
  return streamAnswer(200, {
    body,
    type: contentTypeOf(at.fileName),
    fileName: at.fileName,
    ...(bytes !== undefined && { bytes }),
  });
}

function forget(key: string, coming: Promise<Coming>): void {
  if (running.get(key) === coming) running.delete(key);
}

async function cachedAnswer(
  { sha256, bytes }: CachedContent,
  { fileName }: FileAt,
  request: Pick<RequestContext, "header">,
  { blobs }: Deps,
): Promise<Answer | undefined> {
  try {
    const portion = requestedPortion(request, { tag: sha256, bytes: Number(bytes) });
    const { part } = portion;
    return streamAnswer(200, {
      body: await blobs.read(sha256, part),
      type: contentTypeOf(fileName),
      bytes: portion.bytes,
      fileName,
      etag: sha256,
      acceptRanges: true,
      ...(part && { part }),
    });
  } catch (error) {
    if (error instanceof BlobMissing) return undefined;
    throw error;
  }
}

type Ends = Readonly<{
  /** Called once no further reader can begin. */
  ended: () => void;
  /** Called once the last reader has left. */
  leave: () => void;
}>;

async function begun(
  proxy: ProxyRepository,
  at: FileAt,
  { ended, leave }: Ends,
  deps: Deps,
): Promise<Coming> {
  const { packageFileBytesMax: bytesMax } = deps.config;
  const gone = new AbortController();
  try {
    const request = { url: at.url, headers: { accept: "*/*" }, login: at.login };
    const signal = AbortSignal.any([gone.signal, timeoutSignal(totalMs)]);
    const upstream = await requestUpstream(proxy, request, signal, deps);
    const bytes = lengthOf(upstream, bytesMax);
    const hold = holdFor(upstream, bytes);
    const removed = (): void => {
      hold.leave();
      leave();
    };
    const download = new SharedDownload(() => gone.abort(), removed);
    const place = { repositoryId: proxy.id, path: at.path };
    const filled = download.fill(
      upstream.body,
      { promised: at.promised, bytesMax, reach: hold.reach },
      async (content, length) => {
        if (!proxy.settings.isCaching) return;
        const room = await roomToKeep(proxy, length, deps);
        if (room === undefined) return;
        const blob = await deps.blobs.putPlain(content, { bytesMax, room });
        await keep(deps.db, place, { blob, type: "", etag: "" });
      },
    );
    filled
      .catch((error: unknown) => deps.log.warn({ err: error }, "a proxied file did not come whole"))
      .finally(ended);
    return { download, bytes, filled };
  } catch (error) {
    ended();
    leave();
    throw error;
  }
}

/** The length that the external registry declares. @throws HttpRefusal 502 for a 304, an encoding, or too many bytes */
function lengthOf({ headers, body, status }: Upstream, bytesMax: number): number | undefined {
  const contentLength = headers["content-length"];
  const bytes = contentLength === undefined ? undefined : Number(contentLength);
  const encoding = headers["content-encoding"] ?? "identity";
  if (status !== 304 && encoding === "identity" && (bytes ?? 0) <= bytesMax) return bytes;
  body.on("error", () => undefined).destroy();
  throw failed("The external registry sends what was not requested, or too much.");
}

/** Of the room on this machine; what has no length takes it as it comes. @throws Refusal 503 `registry.busy` */
function holdFor({ body }: Upstream, bytes = 0): Hold {
  try {
    return downloadBudget().take(bytes);
  } catch (error) {
    body.on("error", () => undefined).destroy();
    throw error;
  }
}
