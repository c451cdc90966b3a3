import { z } from "zod";

import { digestOf } from "../../../platform/container/digest.ts";
import { hasLinks } from "../../../platform/container/link.ts";
import { manifestBytesMax } from "../../../platform/container/manifest.ts";
import { readAnyManifest } from "../../../platform/container/manifest-reader.ts";
import { outsideList } from "../../../platform/outside-list.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { timeoutSignal } from "../../../platform/time/timeout-signal.ts";
import { type Answer, jsonAnswer, streamAnswer } from "../../core/answer.ts";
import type { Deps } from "../../core/deps.ts";
import { packageIdsIn, proxySources } from "../package/core/source.ts";
import { findCached, ownsName } from "../package/proxy/cached-content.ts";
import { type Document, upstreamDocument } from "../package/proxy/document.ts";
import { upstreamFile } from "../package/proxy/file.ts";
import { failed, notThere, proxyOf, requestUpstream } from "../package/proxy/upstream.ts";
import { digestIn } from "./blob.ts";
import { type ContainerCall, type ContainerRequest, imagePackageName, imagesOf } from "./call.ts";
import { indexType, referrersAnswer, withNext } from "./listing.ts";
import { mustBeTag } from "./tag.ts";
import { upstreamImage } from "./upstream.ts";

const tagsMax = 1_000;
const headMs = 30_000;
/** Lists are read where they are, which must not hold up others. */
const listBytesMax = 1024 ** 2;
const accept = [
  "application/vnd.oci.image.index.v1+json",
  "application/vnd.oci.image.manifest.v1+json",
  "application/vnd.docker.distribution.manifest.list.v2+json",
  "application/vnd.docker.distribution.manifest.v2+json",
].join(", ");

/** A read that an external registry answers; `repository` of the request is the proxy. */
type ProxyRead = Pick<ContainerCall, "path" | "handle">;

/**
 * Answers a read: by the proxies of the repository in order, where it has any and no local member has the image, else
 * by what is here. A name that a local member has, even in the trash, is never requested from another registry.
 *
 * @param rest of the path, behind the image's name
 */
export async function answerRead(
  call: ContainerCall,
  request: ContainerRequest,
  rest: string,
  deps: Deps,
): Promise<Answer> {
  const read = proxyReads.find(({ path }) => path.test(rest));
  if (read === undefined) return await call.handle(request, deps);
  for (const repository of await proxiesFor(request, deps)) {
    try {
      return await read.handle({ ...request, repository }, deps);
    } catch (error) {
      if (!(error instanceof Refusal) || error.kind !== "not_found") throw error;
    }
    const { image } = request.name;
    if (await ownsName(repository, [`tags/${image}`, `manifest/${image}/*`], deps.db)) break;
  }
  return await call.handle(request, deps);
}

async function proxiesFor(request: ContainerRequest, deps: Deps) {
  const { repository, name } = request;
  if (repository.settings.type === "LOCAL") return [];
  const proxies = await proxySources(repository, deps);
  if (proxies.length === 0 || repository.settings.type === "PROXY") return proxies;
  const of = { type: "container", name: imagePackageName(name.image) } as const;
  const claimed = await packageIdsIn(repository, of, deps);
  if (claimed.length > 0) return [];
  return (await hasLinks(deps.db, await imagesOf(request, deps))) ? [] : proxies;
}

const manifest: ProxyRead = {
  path: /^manifests\/(?<reference>[^/]+)$/,
  async handle({ repository, name, params, ctx }, deps) {
    const proxy = proxyOf(repository);
    const { reference = "" } = params;
    const expected = reference.includes(":") ? digestIn(reference) : undefined;
    if (expected === undefined) mustBeTag(reference);
    const algorithm = expected?.algorithm ?? "sha256";
    const { base, login } = upstreamImage(proxy, name.image, deps);
    const { bytes, type } = await upstreamDocument(
      { proxy, ctx },
      {
        path: `manifest/${name.image}/${reference}`,
        url: `${base}/manifests/${reference}`,
        accept,
        login,
        bytesMax: manifestBytesMax,
        async mustFit(document) {
          await mustBeManifest(document);
          if (expected === undefined || digestOf(document.bytes, algorithm) === expected.text)
            return;
          throw failed("What came is not the manifest of this digest.");
        },
      },
      deps,
    );
    const digest = digestOf(bytes, algorithm);
    return streamAnswer(200, {
      body: ctx.method === "HEAD" ? "" : bytes,
      type: typeOf(type),
      bytes: bytes.length,
      etag: digest,
      headers: { "Docker-Content-Digest": digest },
    });
  },
};

const typeOf = (contentType: string): string => contentType.split(";", 1)[0]?.trim() ?? "";

/** @throws HttpRefusal 502 */
async function mustBeManifest({ bytes, type }: Document): Promise<void> {
  try {
    if (bytes.length <= manifestBytesMax) return void (await readAnyManifest(bytes, typeOf(type)));
  } catch (error) {
    if (!(error instanceof Error)) throw error;
  }
  throw failed("The external registry answered what is no manifest of an image.");
}

const blob: ProxyRead = {
  path: /^blobs\/(?<digest>[^/]+)$/,
  async handle({ repository, name, params, request, ctx }, deps) {
    const proxy = proxyOf(repository);
    const digest = digestIn(params["digest"] ?? "");
    const { base, login } = upstreamImage(proxy, name.image, deps);
    const { algorithm, hex, text } = digest;
    const url = `${base}/blobs/${text}`;
    const place = { repositoryId: proxy.id, path: `blob/${text}` };
    const headers = { "Docker-Content-Digest": text };
    if (ctx.method === "HEAD") {
      const cached = await findCached(deps.db, place);
      if (cached === undefined && proxy.settings.isOffline) throw notThere();
      const bytes =
        cached === undefined ? await lengthAt({ url, login }, proxy, deps) : cached.bytes;
      const type = "application/octet-stream";
      return streamAnswer(200, { body: "", type, bytes: Number(bytes), headers });
    }
    const promised = { algorithm, hex };
    const at = { path: place.path, fileName: hex, url, promised, login };
    const answer = await upstreamFile(proxy, at, request, deps);
    return { ...answer, headers: { ...answer.headers, ...headers } };
  },
};

/** @throws Refusal 404; HttpRefusal 502 when the external registry does not say it */
async function lengthAt(
  order: Pick<Parameters<typeof requestUpstream>[1], "url" | "login">,
  proxy: ReturnType<typeof proxyOf>,
  deps: Deps,
): Promise<number> {
  const upstreamRequest = { ...order, headers: { accept: "*/*" } };
  const { headers, body } = await requestUpstream(
    proxy,
    upstreamRequest,
    timeoutSignal(headMs),
    deps,
  );
  body.on("error", () => undefined).destroy();
  const length = Number(headers["content-length"] ?? Number.NaN);
  if (Number.isSafeInteger(length)) return length;
  throw failed("The external registry does not say how large it is.");
}

const Tags = z.object({ tags: outsideList(z.string()).nullish() });

const tags: ProxyRead = {
  path: /^tags\/list$/,
  async handle({ repository, name, ctx }, deps) {
    const proxy = proxyOf(repository);
    const { base, login } = upstreamImage(proxy, name.image, deps);
    const [last = "", count = ""] = [ctx.query["last"], ctx.query["n"]].map((each) =>
      String(each ?? ""),
    );
    if (last !== "") mustBeTag(last);
    const limit = Math.min(tagsMax, /^\d{1,9}$/.test(count) ? Number(count) : tagsMax);
    const query = new URLSearchParams({ n: String(tagsMax), ...(last !== "" && { last }) });
    const document = await upstreamDocument(
      { proxy, ctx },
      {
        path: `tags/${name.image}`,
        url: `${base}/tags/list?${query.toString()}`,
        accept: "application/json",
        login,
        isPassing: last !== "",
        bytesMax: listBytesMax,
      },
      deps,
    );
    const found = jsonOf(document, Tags).tags ?? [];
    // Some registries give all tags, whatever the parameters are.
    const after = found.filter((tag) => tag > last);
    const shown = after.slice(0, limit);
    const answer = jsonAnswer(200, { name: name.full, tags: shown });
    const hasMore = after.length > shown.length || found.length === tagsMax;
    if (!hasMore || shown.length === 0) return answer;
    const next = { n: String(limit), last: shown.at(-1) ?? "" };
    return withNext(answer, `/v2/${name.full}/tags/list`, next);
  },
};

const Referrers = z.object({ manifests: outsideList(z.looseObject({})) });

const referrers: ProxyRead = {
  path: /^referrers\/(?<digest>[^/]+)$/,
  async handle({ repository, name, params, ctx }, deps) {
    const proxy = proxyOf(repository);
    const { text } = digestIn(params["digest"] ?? "");
    const { base, login } = upstreamImage(proxy, name.image, deps);
    const at = { path: "", url: `${base}/referrers/${text}`, accept: indexType, login };
    const passing = { ...at, isPassing: true, bytesMax: listBytesMax };
    const document = await upstreamDocument({ proxy, ctx }, passing, deps);
    const wanted = String(ctx.query["artifactType"] ?? "") || undefined;
    const all = jsonOf(document, Referrers).manifests;
    const manifests = all.filter((each) => wanted === undefined || each["artifactType"] === wanted);
    return referrersAnswer(manifests, wanted);
  },
};

/** @throws HttpRefusal 502 */
function jsonOf<Schema extends z.ZodType>({ bytes }: Document, schema: Schema): z.output<Schema> {
  try {
    return schema.parse(JSON.parse(bytes.toString()));
  } catch {
    throw failed("The external registry answered what is no list.");
  }
}

const proxyReads: readonly ProxyRead[] = [manifest, blob, tags, referrers];
