import { z } from "zod";

import { pypiName } from "../../../platform/package/pypi.ts";
import type { Answer } from "../../core/answer.ts";
import type { Deps } from "../../core/deps.ts";
import { fileNotFound, orNotFound } from "../../package/request.ts";
import { upstreamDocument } from "../proxy/document.ts";
import { upstreamFile } from "../proxy/file.ts";
import type { Promised } from "../proxy/flight.ts";
import { failed, type ProxyRepository, proxyOf, upstreamUrl } from "../proxy/upstream.ts";
import type { NativeRequest, ProxyCall } from "../type.ts";
import { escaped, jsonType, page, simple } from "./pypi-page.ts";

const accept = `${jsonType}, text/html;q=0.5`;

const Hashes = z.record(z.string(), z.string());
const File = z.object({
  filename: z.string().regex(/^[^/\\]+$/),
  url: z.string(),
  hashes: Hashes.default({}),
  "requires-python": z.string().nullish(),
  "core-metadata": z.union([z.boolean(), Hashes]).optional(),
  "dist-info-metadata": z.union([z.boolean(), Hashes]).optional(),
  yanked: z.union([z.boolean(), z.string()]).optional(),
  size: z.int().optional(),
  "upload-time": z.string().optional(),
});
type File = z.output<typeof File>;

const names = (params: NativeRequest["params"]) => pypiName(params["name"] ?? "");

/** The simple API is below `simple/`, unless the proxy's URL ends with it. */
function projectUrl(proxy: ProxyRepository, key: string): string {
  const isSimple = /\/simple\/*$/.test(proxy.settings.url);
  return upstreamUrl(proxy, `${isSimple ? "" : "simple/"}${key}/`);
}

/** PEP 503 or PEP 691, as the external registry likes. */
async function filesOf(native: NativeRequest, deps: Deps): Promise<readonly File[]> {
  const proxy = proxyOf(native.repository);
  const { key } = orNotFound(() => names(native.params));
  const url = projectUrl(proxy, key);
  const { bytes, type } = await upstreamDocument(
    proxy,
    { path: `simple/${key}`, url, accept },
    deps,
  );
  const text = bytes.toString();
  const isJson = /json/.test(type);
  const found = isJson ? jsonFiles(text) : anchors(text);
  return found.flatMap((file) => {
    if (!URL.canParse(file.url, url)) return [];
    return [{ ...file, url: new URL(file.url, url).href }];
  });
}

function jsonFiles(text: string): readonly File[] {
  try {
    const { files } = z.object({ files: z.array(z.unknown()) }).parse(JSON.parse(text));
    return files.flatMap((file) => File.safeParse(file).data ?? []);
  } catch {
    throw failed("The external registry answered what is no list of files.");
  }
}

const lengthMax = 16_384;

/** The links of a page: attributes in double or single quotes, as all indexes write them. */
function anchors(html: string): readonly File[] {
  const links = html.split(/<a\s/i).slice(1);
  return links.flatMap((link) => {
    const part = link.slice(0, lengthMax);
    const [tag = "", text = ""] = part.split(">", 2);
    const attribute = (name: string) => {
      const match = new RegExp(`(?:^|\\s)${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`, "i").exec(tag);
      return match === null ? undefined : unescaped(match[1] ?? match[2] ?? "");
    };
    const [url = "", fragment = ""] = (attribute("href") ?? "").split("#", 2);
    const file = File.safeParse({
      filename: unescaped(text.split("<", 1)[0]?.trim() ?? ""),
      url,
      hashes: pairsOf(fragment),
      "requires-python": attribute("data-requires-python"),
      "core-metadata": metadataOf(
        attribute("data-core-metadata") ?? attribute("data-dist-info-metadata"),
      ),
      yanked: attribute("data-yanked") === undefined ? false : attribute("data-yanked") || true,
    });
    return file.data ?? [];
  });
}

function metadataOf(text: string | undefined) {
  if (text === undefined) return undefined;
  return text.includes("=") ? pairsOf(text) : text === "true";
}

function pairsOf(text: string): Record<string, string> {
  const [algorithm = "", hex = ""] = text.split("=", 2);
  return hex === "" ? {} : { [algorithm]: hex };
}

const entities: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', amp: "&" };

function unescaped(text: string): string {
  return text.replaceAll(
    /&(?:#(\d{1,6})|#x([0-9a-f]{1,6})|(lt|gt|quot|amp));/gi,
    (whole, ...of) => {
      const [decimal, hex, name] = of as [string?, string?, string?];
      if (name !== undefined) return entities[name.toLowerCase()] ?? whole;
      const code = decimal === undefined ? Number.parseInt(hex ?? "", 16) : Number(decimal);
      return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : whole;
    },
  );
}

const metadataHash = (file: File) => {
  const told = file["core-metadata"] ?? file["dist-info-metadata"];
  return typeof told === "object" ? told : undefined;
};

const getProject: ProxyCall = {
  path: /^simple\/(?<name>[^/]+)\/?$/,
  operationId: "get-proxied-pypi-project",
  names,
  async handle(native, deps): Promise<Answer> {
    const { key } = orNotFound(() => names(native.params));
    if (native.params["name"] !== key || !native.ctx.path.endsWith("/")) {
      return { status: 301, headers: { Location: `${native.base}/simple/${key}/` }, body: "" };
    }
    const files = (await filesOf(native, deps)).map((file) => ({
      ...file,
      url: `${native.base}/files/${key}/-/${encodeURIComponent(file.filename)}`,
      "core-metadata": metadataHash(file) ?? false,
      "dist-info-metadata": undefined,
      yanked: file.yanked ?? false,
    }));
    const json = { meta: { "api-version": "1.0" }, name: key, files };
    return simple(native, json, () => page(key, files.map(anchorOf)));
  },
};

function anchorOf(file: File): string {
  const [algorithm, hex] = Object.entries(file.hashes)[0] ?? [];
  const [metadata] = Object.entries(metadataHash(file) ?? {}).map((pair) => pair.join("="));
  const isYanked = file.yanked !== undefined && file.yanked !== false;
  const attributes = [
    ["href", algorithm === undefined ? file.url : `${file.url}#${algorithm}=${hex}`],
    ["data-requires-python", file["requires-python"]],
    ["data-core-metadata", metadata],
    ["data-dist-info-metadata", metadata],
    ["data-yanked", isYanked ? (file.yanked === true ? "" : String(file.yanked)) : undefined],
  ] as const;
  const shown = attributes.flatMap(([name, value]) =>
    value === undefined || value === null ? [] : [`${name}="${escaped(value)}"`],
  );
  return `<a ${shown.join(" ")}>${escaped(file.filename)}</a><br>`;
}

const download: ProxyCall = {
  path: /^files\/(?<name>[^/]+)\/-\/(?<file>[^/]+)$/,
  operationId: "download-proxied-pypi-file",
  names,
  async handle(native, deps) {
    const proxy = proxyOf(native.repository);
    const { file: asked = "" } = native.params;
    const files = await filesOf(native, deps);
    const whole = files.find(({ filename }) => filename === asked);
    const isMetadata = whole === undefined && asked.endsWith(".metadata");
    const found = whole ?? files.find(({ filename }) => `${filename}.metadata` === asked);
    const hashes = found && (isMetadata ? metadataHash(found) : found.hashes);
    if (found === undefined || hashes === undefined) throw fileNotFound();
    const promised = promisedBy(hashes);
    const url = isMetadata ? `${found.url}.metadata` : found.url;
    const { key } = orNotFound(() => names(native.params));
    const path = `file/${key}/${asked}/${promised?.hex ?? ""}`;
    return await upstreamFile(
      proxy,
      { path, fileName: asked, url, promised },
      native.request,
      deps,
    );
  },
};

function promisedBy(hashes: Readonly<Record<string, string>>): Promised | undefined {
  for (const algorithm of ["sha256", "sha512", "sha1", "md5"] as const) {
    const hex = hashes[algorithm]?.toLowerCase();
    if (hex !== undefined) return { algorithm, hex };
  }
  return undefined;
}

export const pypiProxy: readonly ProxyCall[] = [getProject, download];
