import { createHash } from "node:crypto";
import { buffer } from "node:stream/consumers";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import {
  coordinatesOf,
  packageFileIdOf,
  packageIdOf,
  packageVersionIdOf,
} from "../../../../package/core/coordinates.ts";
import { readGem } from "../../../../package/file-reader.ts";
import {
  compareGem,
  type GemMetadata,
  gemFileName,
  gemName,
  gemsNamed,
  gemVersion,
  isGemPrerelease,
} from "../../../../package/rubygem/format.ts";
import { gemIndex, gemspecFile, infoLine } from "../../../../package/rubygem/spec.ts";
import { isToken } from "../../../../platform/key/token.ts";
import { Refusal } from "../../../../platform/refusal.ts";
import { mustBeStorable } from "../../../../platform/storable-text.ts";
import { findListedFile, type ListedFile } from "../../../../projections/package/registry.ts";
import { packagesWithFiles } from "../../../../projections/package/registry-index.ts";
import { basicCredentials } from "../../../access/credentials.ts";
import { fileNotFound, orNotFound, packageNotFound } from "../../../api/package/request.ts";
import type { Answer } from "../../../core/answer.ts";
import type { Deps } from "../../../core/deps.ts";
import { cachedDocument, filesNamed, metadataOf, stateOfRepository } from "../core/document.ts";
import { sendFile } from "../core/send-file.ts";
import { deploymentOf, mustAllowDeletion, packageIdsIn } from "../core/source.ts";
import { change } from "../core/store.ts";
import {
  type NativeCall,
  type NativeRequest,
  plainError,
  type RegistryType,
} from "../core/type.ts";
import { storeUpload } from "../core/upload.ts";

const type = "rubygem";
const formBytesMax = 8 * 1024;

const gemOf = (file: ListedFile): GemMetadata => metadataOf(file) as GemMetadata;
const isListed = ({ yank_reason }: ListedFile): boolean => yank_reason === null;

/** Clients compare the tag with the MD5 of what they have, newer ones the digest. */
function textAnswer(body: string): Answer {
  const sum = (algorithm: string, encoding: "hex" | "base64") =>
    createHash(algorithm).update(body).digest(encoding);
  const headers = {
    "Content-Type": "text/plain; charset=utf-8",
    ETag: `"${sum("md5", "hex")}"`,
    "Repr-Digest": `sha-256=:${sum("sha256", "base64")}:`,
  };
  return { status: 200, headers, body };
}

const infoOf = (files: readonly ListedFile[]): string =>
  `---\n${files.map((file) => `${infoLine(gemOf(file), file.sha256)}\n`).join("")}`;

type Gems = Readonly<{ name: string; files: readonly ListedFile[] }>;

/** Listed gems by name; of a version for a platform, the first repository's. */
async function allGems(native: NativeRequest, deps: Deps): Promise<readonly Gems[]> {
  const { sources } = await stateOfRepository(native.repository, deps);
  const found = new Map<string, Map<string, ListedFile>>();
  for (const { id } of sources) {
    for await (const { files } of packagesWithFiles(deps.db, id)) {
      for (const file of files) {
        const { name } = gemName(gemOf(file).name);
        const versions = found.get(name) ?? new Map<string, ListedFile>();
        found.set(name, versions);
        if (!versions.has(file.version)) versions.set(file.version, file);
      }
    }
  }
  return [...found]
    .map(([name, versions]) => ({ name, files: [...versions.values()].filter(isListed) }))
    .filter(({ files }) => files.length > 0);
}

/** Made once for a revision of the repository. */
async function cachedIndex(
  what: string,
  native: NativeRequest,
  make: (gems: readonly Gems[]) => Promise<Buffer>,
  deps: Deps,
): Promise<Buffer> {
  const { key } = await stateOfRepository(native.repository, deps);
  const made = async () => make(await allGems(native, deps));
  return cachedDocument(`rubygem:${what}:${key}`, made, ({ length }) => length);
}

const createdAt = "created_at: 2024-01-01T00:00:00Z\n---\n";

const documents: Readonly<Record<string, (gems: readonly Gems[]) => string>> = {
  names: (gems) => `---\n${gems.map(({ name }) => `${name}\n`).join("")}`,
  versions: (gems) =>
    createdAt +
    gems
      .map(({ name, files }) => {
        const digest = createHash("md5").update(infoOf(files)).digest("hex");
        return `${name} ${files.map(({ version }) => version).join(",")} ${digest}\n`;
      })
      .join(""),
};

const getDocument: NativeCall = {
  method: "GET",
  path: /^(?<what>names|versions)$/,
  right: "read",
  operationId: "get-gem-index",
  async handle(native, deps) {
    const what = native.params["what"] ?? "";
    const make = async (gems: readonly Gems[]) => Buffer.from(documents[what]?.(gems) ?? "");
    return textAnswer((await cachedIndex(what, native, make, deps)).toString());
  },
};

/** Clients request it by HEAD, and take old indexes when it fails. */
const getRoot: NativeCall = {
  method: "GET",
  path: /^$/,
  right: "read",
  operationId: "get-gem-root",
  handle: async () => textAnswer("This is a repository of gems.\n"),
};

const getInfo: NativeCall = {
  method: "GET",
  path: /^info\/(?<name>[^/]+)$/,
  right: "read",
  operationId: "get-gem-info",
  async handle({ params, repository }, deps) {
    const name = orNotFound(() => gemName(params["name"] ?? ""));
    const files = await filesNamed(repository, { type, name }, ({ version }) => version, deps);
    const listed = files.filter((file) => isListed(file) && gemOf(file).name === params["name"]);
    if (listed.length === 0) throw packageNotFound();
    return textAnswer(infoOf(listed));
  },
};

const isLatest = (file: ListedFile, _: number, all: readonly ListedFile[]): boolean => {
  const { number, platform } = gemOf(file);
  return !all.some((other) => {
    const one = gemOf(other);
    const isOther = one.platform === platform && !isGemPrerelease(one.number);
    return isOther && compareGem(one.number, number) > 0;
  });
};

const getSpecs: NativeCall = {
  method: "GET",
  path: /^(?<what>latest_specs|prerelease_specs|specs)\.4\.8\.gz$/,
  right: "read",
  operationId: "get-gem-specs",
  async handle(native, deps) {
    const what = native.params["what"] ?? "";
    const wantsPrereleases = what === "prerelease_specs";
    const make = async (gems: readonly Gems[]): Promise<Buffer> => {
      const shown = gems.flatMap(({ files }) => {
        const fitting = files.filter(
          (file) => isGemPrerelease(gemOf(file).number) === wantsPrereleases,
        );
        return what === "latest_specs" ? fitting.filter(isLatest) : fitting;
      });
      return promisify(gzip)(gemIndex(shown.map(gemOf)));
    };
    const body = await cachedIndex(what, native, make, deps);
    return { status: 200, headers: { "Content-Type": "application/octet-stream" }, body };
  },
};

/** Ids of the files that a full name can mean, in the repositories that have such a package. */
async function fileIdsOf(full: string, native: NativeRequest, deps: Deps) {
  const all = await Promise.all(
    gemsNamed(full).map(async ({ packageName, version }) => {
      const ids = await packageIdsIn(native.repository, { type, name: packageName }, deps);
      const file = gemFileName(packageName, version);
      return ids.map((id) => packageFileIdOf(packageVersionIdOf(id, version), file));
    }),
  );
  return all.flat();
}

const download: NativeCall = {
  method: "GET",
  path: /^gems\/(?<full>[^/]+)\.gem$/,
  right: "read",
  operationId: "download-gem",
  handle: async (native, deps) =>
    sendFile(await fileIdsOf(native.params["full"] ?? "", native, deps), native.request, deps),
};

const getGemspec: NativeCall = {
  method: "GET",
  path: /^quick\/Marshal\.4\.8\/(?<full>[^/]+)\.gemspec\.rz$/,
  right: "read",
  operationId: "get-gemspec",
  async handle(native, deps) {
    for (const id of await fileIdsOf(native.params["full"] ?? "", native, deps)) {
      const file = await findListedFile(deps.db, id);
      if (file === undefined) continue;
      const headers = { "Content-Type": "application/octet-stream" };
      return { status: 200, headers, body: gemspecFile(gemOf(file)) };
    }
    throw fileNotFound();
  },
};

const push: NativeCall = {
  method: "POST",
  path: /^api\/v1\/gems$/,
  right: "write",
  operationId: "push-gem",
  async handle(native, deps) {
    const target = await deploymentOf(native.repository, deps);
    const inspect = async (file: string) => {
      const gem = await readGem(file);
      // Its full name may not be that of another gem: clients fetch by nothing else.
      const full = gem.fileName.slice(0, -".gem".length);
      for (const { packageName, version } of gemsNamed(full)) {
        if (packageName.key === gem.packageName.key) continue;
        const id = packageVersionIdOf(packageIdOf(target.id, type, packageName), version);
        const fileId = packageFileIdOf(id, gemFileName(packageName, version));
        if ((await findListedFile(deps.db, fileId)) !== undefined) throw taken(packageName.name);
      }
      return gem;
    };
    const { inspected } = await storeUpload(native, { type, inspect }, deps);
    const { packageName, version } = inspected;
    return textAnswer(`Successfully registered gem: ${packageName.name} (${version.version})\n`);
  },
};

function taken(name: string): Refusal {
  const message = `The gem ${name} has a version with the same full name.`;
  return new Refusal("conflict", "package_file.exists", message);
}

/** Removed from the indexes; a client that has it in a lock file still gets it. */
const yank: NativeCall = {
  method: "DELETE",
  path: /^api\/v1\/gems\/yank$/,
  right: "write",
  operationId: "yank-gem",
  async handle({ ctx, repository, request }, deps) {
    const body = await buffer(request.incoming(formBytesMax).body);
    const form = new URLSearchParams(body.toString("utf8"));
    mustBeStorable([...form]);
    const field = (name: string) => form.get(name) ?? String(ctx.query[name] ?? "");
    const target = await deploymentOf(repository, deps);
    // What it does cannot be taken back by the client, which calls it deletion.
    mustAllowDeletion(target);
    const named = orNotFound(() => ({
      packageName: gemName(field("gem_name")),
      version: gemVersion(field("version"), field("platform") || undefined),
    }));
    const { packageId, packageVersionId: id } = coordinatesOf(target.id, type, named);
    const command = { type: "YankPackageVersion", packageId, reason: "" } as const;
    await change({ id, command }, request, deps);
    return textAnswer(
      `Successfully deleted gem: ${named.packageName.name} (${named.version.version})\n`,
    );
  },
};

/** `gem signin` with a token as the password keeps that token. */
const getKey = (method: "GET" | "POST"): NativeCall => ({
  method,
  path: /^api\/v1\/api_key(?:\.\w+)?$/,
  right: "read",
  operationId: "get-gem-api-key",
  async handle({ request }) {
    const [, password = ""] = basicCredentials(request.header("authorization")) ?? [];
    if (isToken(password)) return textAnswer(password);
    const message = "Sign in with an access token as the password.";
    throw new Refusal("forbidden", "auth.token_required", message);
  },
});

export const rubygemType: RegistryType = {
  packageType: type,
  errorBody: plainError,
  calls: [
    getRoot,
    getDocument,
    getInfo,
    getSpecs,
    download,
    getGemspec,
    push,
    yank,
    getKey("GET"),
    getKey("POST"),
  ],
};
