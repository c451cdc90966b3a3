import { createHash } from "node:crypto";
import { buffer } from "node:stream/consumers";
import type { PackageId } from "../../../../events/core/ids.ts";
import {
  type PackageName,
  type PackageVersionName,
  packageFileIdOf,
  packageVersionIdOf,
} from "../../../../package/core/coordinates.ts";
import { goalPrefixIn } from "../../../../package/file-reader.ts";
import { plainVersion } from "../../../../package/generic/format.ts";
import { mavenName } from "../../../../package/maven/format.ts";
import {
  artifactMetadata,
  groupMetadata,
  type MavenVersions,
  mavenVersions,
  snapshotMetadata,
  versionTags,
} from "../../../../package/maven/metadata.ts";
import { pluginTags } from "../../../../package/maven/plugin.ts";
import { Refusal } from "../../../../platform/refusal.ts";
import {
  filesOfVersionsFrom,
  findListedFile,
  type ListedFile,
} from "../../../../projections/package/registry.ts";
import { fileNotFound, orNotFound } from "../../../api/package/request.ts";
import { type Answer, emptyAnswer, streamAnswer } from "../../../core/answer.ts";
import type { Deps } from "../../../core/deps.ts";
import { receiveAttachedFile } from "../../../core/file/attached.ts";
import { mustMatchClaims } from "../../../core/file/checksum.ts";
import { joinedParts, type PartForm, partsOf } from "../core/part.ts";
import { sendFile } from "../core/send-file.ts";
import { deploymentOf, packageIdsFor, packageIdsIn } from "../core/source.ts";
import { receive, record, uploadBytesMax } from "../core/store.ts";
import { type NativeRequest, plainError, type RegistryType } from "../core/type.ts";
import { pluginsOf } from "./plugin.ts";
import { mavenKeptPaths, mavenProxy } from "./proxy.ts";

const type = "maven";
const sums = ["md5", "sha1", "sha256", "sha512"] as const;
type Sum = (typeof sums)[number];

const sumForm = /^(?<path>.+)\.(?<sum>md5|sha1|sha256|sha512)$/;
const metadataForm = /^(?<path>.+)\/maven-metadata\.xml$/;
const fileForm = /^(?<group>.+)\/(?<artifact>[^/]+)\/(?<version>[^/]+)\/(?<file>[^/]+)$/;
const sumBytesMax = 1_024;
const metadataBytesMax = 1024 ** 2;

type Named = Readonly<{ packageName: PackageName; version: PackageVersionName; fileName: string }>;

/** @throws Refusal 422 */
function namedBy(path: string): Named {
  const { group = "", artifact = "", version = "", file = "" } = fileForm.exec(path)?.groups ?? {};
  const packageName = mavenName(group.replaceAll("/", "."), artifact);
  const [of] = namesOfFiles(artifact).flatMap((name) => versionOf(file, name, version) ?? []);
  if (of === undefined) {
    const message = `Names of files of ${artifact} ${version} begin with ${artifact}-${version}.`;
    throw new Refusal("unprocessable", "package.name_invalid", message);
  }
  return { packageName, version: plainVersion(of), fileName: file };
}

/** sbt stores a plugin for its version 1.0 and Scala 2.12 as `name_2.12_1.0`, with files of both names. */
function namesOfFiles(artifact: string): readonly string[] {
  const [, name] = /^(.+)_\d+(?:\.\d+)?_\d+\.\d+$/.exec(artifact) ?? [];
  return name === undefined ? [artifact] : [artifact, name];
}

/** Of a snapshot that of its build, where the file has one; undefined for a file that is named otherwise. */
function versionOf(file: string, name: string, version: string): string | undefined {
  const base = version.replace(/-SNAPSHOT$/, "");
  const after = (begin: string) => (file.startsWith(begin) ? file.slice(begin.length) : "");
  const [, stamp] = /^-(\d{8}\.\d{6}-\d+)[-.]/.exec(after(`${name}-${base}`)) ?? [];
  if (stamp !== undefined && base !== version) return `${base}-${stamp}`;
  return /^[-.]/.test(after(`${name}-${version}`)) ? version : undefined;
}

/** The XML of an artifact, a snapshot or a group, made from the versions that are there. @throws Refusal 404 */
async function metadataAt(path: string, native: NativeRequest, deps: Deps): Promise<Buffer> {
  const parts = path.split("/");
  const last = parts.at(-1) ?? "";
  if (last.endsWith("-SNAPSHOT")) {
    const [name, ids] = await artifactAt(parts.slice(0, -1), native, deps);
    const text = await snapshotText(ids, name, last, deps);
    if (text === undefined) throw fileNotFound();
    return Buffer.from(text);
  }
  const plugins = pluginTags(await pluginsOf(parts.join("."), native, deps));
  try {
    const [name, ids] = await artifactAt(parts, native, deps);
    return await artifactText(name, ids, plugins, deps);
  } catch (error) {
    // The path of a group can be that of an artifact as well.
    const isGroup = plugins !== "" && error instanceof Refusal && error.kind === "not_found";
    if (isGroup) return Buffer.from(groupMetadata(plugins));
    throw error;
  }
}

async function artifactAt(
  parts: readonly string[],
  { repository }: NativeRequest,
  deps: Deps,
): Promise<readonly [PackageName, readonly PackageId[]]> {
  const name = orNotFound(() => mavenName(parts.slice(0, -1).join("."), parts.at(-1) ?? ""));
  return [name, await packageIdsIn(repository, { type, name }, deps)];
}

async function artifactText(
  name: PackageName,
  ids: readonly PackageId[],
  plugins: string,
  deps: Deps,
): Promise<Buffer> {
  const parts = await partsOf(ids, versionsForm, deps);
  const summaries = parts.map(({ summary }) => summary);
  const [head, tail] = artifactMetadata(name, summaries, plugins);
  // Several parts may hold builds of one snapshot, and several repositories the same version.
  const isPlain = ids.length === 1 && !summaries.some(({ hasSnapshot }) => hasSnapshot);
  const all = () => versionTags([...new Set(summaries.flatMap(({ versions }) => versions))]);
  const tags = isPlain ? joinedParts(parts, 0) : [Buffer.from(all())];
  return Buffer.concat([Buffer.from(head), ...tags, Buffer.from(tail)]);
}

const mavenFile = ({ name, version, created_at: at }: ListedFile) => ({ name, version, at });

const versionsForm: PartForm<MavenVersions> = {
  key: "maven",
  keyOf: ({ id }) => id,
  make(files) {
    const summary = mavenVersions(files.map(mavenFile));
    return { texts: [versionTags(summary.versions)], summary };
  },
};

/** A snapshot has a version of its own for each build. */
async function snapshotText(
  ids: readonly PackageId[],
  { groupId, artifactId }: PackageName,
  version: string,
  deps: Deps,
): Promise<string | undefined> {
  const prefix = version.slice(0, -"SNAPSHOT".length);
  const found = await Promise.all(ids.map((id) => filesOfVersionsFrom(deps.db, id, prefix)));
  const files = found.flat().map(mavenFile);
  return snapshotMetadata({ groupId, artifactId, version, files });
}

/** What is kept of a jar that is a plugin. */
async function describedBy(file: string, { packageName, version, fileName }: Named) {
  if (fileName !== `${packageName.artifactId}-${version.version}.jar`) return {};
  const goalPrefix = await goalPrefixIn(file);
  return goalPrefix === undefined ? {} : { metadata: { goalPrefix } };
}

async function fileIdsAt(path: string, { repository }: NativeRequest, deps: Deps) {
  const { packageName: name, version, fileName } = orNotFound(() => namedBy(path));
  const ids = await packageIdsFor(repository, { type, name }, deps);
  return ids.map((id) => packageFileIdOf(packageVersionIdOf(id, version), fileName));
}

const textAnswer = (body: string | Buffer, contentType: string): Answer =>
  streamAnswer(200, { body, type: contentType, bytes: Buffer.byteLength(body) });

async function sumOf(path: string, sum: Sum, native: NativeRequest, deps: Deps): Promise<string> {
  const metadata = metadataForm.exec(path)?.groups?.["path"];
  if (metadata !== undefined) {
    return createHash(sum)
      .update(await metadataAt(metadata, native, deps))
      .digest("hex");
  }
  for (const id of await fileIdsAt(path, native, deps)) {
    const row = await findListedFile(deps.db, id);
    if (row !== undefined) return row[sum];
  }
  throw fileNotFound();
}

const bodyText = async ({ request }: NativeRequest, bytesMax: number): Promise<string> =>
  (await buffer(request.incoming(bytesMax).body)).toString("utf8");

/** Sums are compared and never stored; of a file that has not come yet there is nothing to compare. */
async function takeSum(path: string, sum: Sum, native: NativeRequest, deps: Deps): Promise<Answer> {
  // Some tools write the name of the file behind it.
  const [sent = ""] = (await bodyText(native, sumBytesMax)).trim().split(/\s/, 1);
  if (metadataForm.test(path)) return emptyAnswer(201);
  const target = await deploymentOf(native.repository, deps);
  const [id = ""] = await fileIdsAt(path, { ...native, repository: target }, deps);
  const row = await findListedFile(deps.db, id || "00000000-0000-8000-8000-000000000000");
  const claim = { name: `The ${sum}`, algorithm: sum, sent: sent || "empty" };
  if (row === undefined) return emptyAnswer(201);
  const { md5, sha1, sha256, sha512 } = row;
  mustMatchClaims([claim], { md5, sha1, sha256, sha512 }, "bad_request");
  return emptyAnswer(201);
}

export const mavenType: RegistryType = {
  packageType: type,
  proxy: mavenProxy,
  keptPaths: mavenKeptPaths,
  errorBody: plainError,
  calls: [
    {
      method: "GET",
      path: /^(?<path>.+)$/,
      right: "read",
      operationId: "download-maven-file",
      async handle(native, deps) {
        const path = native.params["path"] ?? "";
        const sumRequest = sumForm.exec(path)?.groups;
        if (sumRequest !== undefined) {
          const digest = await sumOf(
            sumRequest["path"] ?? "",
            sumRequest["sum"] as Sum,
            native,
            deps,
          );
          return textAnswer(digest, "text/plain");
        }
        const metadata = metadataForm.exec(path)?.groups?.["path"];
        if (metadata !== undefined) {
          return textAnswer(await metadataAt(metadata, native, deps), "application/xml");
        }
        return sendFile(await fileIdsAt(path, native, deps), native.request, deps);
      },
    },
    {
      method: "PUT",
      path: /^(?<path>.+)$/,
      right: "write",
      operationId: "store-maven-file",
      async handle(native, deps) {
        const { request, repository, mustStill } = native;
        const path = native.params["path"] ?? "";
        const sum = sumForm.exec(path)?.groups;
        if (sum !== undefined) return takeSum(sum["path"] ?? "", sum["sum"] as Sum, native, deps);
        if (metadataForm.test(path)) {
          // Made here from the versions there are: two that deploy at once would lose one.
          await bodyText(native, metadataBytesMax);
          return emptyAnswer(201);
        }
        const target = await deploymentOf(repository, deps);
        const named = namedBy(path);
        const inspect = async (at: string) => ({
          ...named,
          languageVersion: null,
          ...(await describedBy(at, named)),
        });
        const received = await receiveAttachedFile(request, {
          bytesMax: await uploadBytesMax(target, deps),
          take: (content) => receive(content, { target, inspect }, request, deps),
        });
        await record(received, { target, type, mustStill }, request, deps);
        return emptyAnswer(201);
      },
    },
  ],
};
