import type { PackageName } from "../../../../package/core/coordinates.ts";
import { mavenName } from "../../../../package/maven/format.ts";
import { Refusal } from "../../../../platform/refusal.ts";
import { streamAnswer } from "../../../core/answer.ts";
import type { Deps } from "../../../core/deps.ts";
import { HttpRefusal } from "../../../core/errors.ts";
import type { NativeRequest, ProxyCall } from "../core/type.ts";
import { cachedStream, type DocumentContext, upstreamDocument } from "../proxy/document.ts";
import { upstreamFile } from "../proxy/file.ts";
import type { Promised } from "../proxy/shared-download.ts";
import { type ProxyRepository, proxyOf, upstreamUrl } from "../proxy/upstream.ts";

const documentForm = /(?:\/maven-metadata\.xml|\.asc|\.md5|\.sha1|\.sha256|\.sha512)$/;
const sumForm = /\.(?:md5|sha1|sha256|sha512)$/;

/** `group/…/artifact/version/file`, or the metadata of an artifact or of a snapshot. */
function names(params: NativeRequest["params"]): PackageName {
  const parts = (params["path"] ?? "").replace(sumForm, "").split("/");
  const isMetadata = parts.at(-1) === "maven-metadata.xml";
  const isOfVersion = !isMetadata || (parts.at(-2) ?? "").endsWith("-SNAPSHOT");
  const of = parts.slice(0, isOfVersion ? -2 : -1);
  return mavenName(of.slice(0, -1).join("."), of.at(-1) ?? "");
}

const encoded = (path: string): string => path.split("/").map(encodeURIComponent).join("/");

export const documentAt = (proxy: ProxyRepository, path: string) => ({
  path: `document/${path}`,
  url: upstreamUrl(proxy, encoded(path)),
  accept: "*/*",
});

const get: ProxyCall = {
  path: /^(?<path>[^/]+(?:\/[^/]+){2,})$/,
  operationId: "get-proxied-maven-file",
  names,
  async handle({ ctx, params, repository, request }, deps) {
    const proxy = proxyOf(repository);
    const { path = "" } = params;
    if (documentForm.test(path)) {
      const at = documentAt(proxy, path);
      const type = path.endsWith(".xml") ? "application/xml" : "text/plain";
      const cached = await cachedStream(proxy, at, deps);
      if (cached !== undefined) return streamAnswer(200, { ...cached, type });
      const { bytes } = await upstreamDocument({ proxy, ctx }, at, deps);
      return streamAnswer(200, { body: bytes, type, bytes: bytes.length });
    }
    const fileName = path.split("/").at(-1) ?? "";
    const promised = await promisedFor(path, { proxy, ctx }, deps);
    // The content of an unstamped snapshot changes; its sum distinguishes the contents.
    const of = { path: `file/${path}/${promised?.hex ?? ""}`, fileName, promised };
    return await upstreamFile(
      proxy,
      { ...of, url: upstreamUrl(proxy, encoded(path)) },
      request,
      deps,
    );
  },
};

/** By the sum beside the file, where there is one. */
async function promisedFor(
  path: string,
  context: DocumentContext,
  deps: Deps,
): Promise<Promised | undefined> {
  try {
    const at = documentAt(context.proxy, `${path}.sha1`);
    const { bytes } = await upstreamDocument(context, at, deps);
    const hex = /^([0-9a-f]{40})(?:[^0-9a-f]|$)/i.exec(
      bytes.toString("latin1", 0, 200).trim(),
    )?.[1];
    return hex === undefined ? undefined : { algorithm: "sha1", hex: hex.toLowerCase() };
  } catch (error) {
    const isBusy = error instanceof Refusal && error.kind === "unavailable";
    if (!isBusy && (error instanceof Refusal || error instanceof HttpRefusal)) return undefined;
    throw error;
  }
}

/** What is kept of an artifact: metadata, and files of its versions with their sums. */
export function mavenKeptPaths({ groupId, artifactId }: PackageName): readonly string[] {
  const path = `${groupId.replaceAll(".", "/")}/${artifactId}`;
  return [`document/${path}/maven-metadata.xml`, `document/${path}/*/*`, `file/${path}/*/*/*`];
}

export const mavenProxy: readonly ProxyCall[] = [get];
