import { createHash } from "node:crypto";
import { buffer } from "node:stream/consumers";
import { promisify } from "node:util";
import { gzip } from "node:zlib";

import {
  type RpmListedFile,
  type RpmMetadata,
  type RpmRelation,
  rpmFilesOf,
  rpmRelationKinds,
} from "../../../../package/rpm/format.ts";
import { parseRpmHeader } from "../../../../package/rpm/header.ts";
import type { ListedFile } from "../../../../projections/package/registry.ts";
import { packagesWithFiles } from "../../../../projections/package/registry-index.ts";
import type { RegistryRepositoryRow } from "../../../../projections/registry/repository.ts";
import type { Deps } from "../../../core/deps.ts";
import {
  cachedDocument,
  documentInCache,
  metadataOf,
  type RepositoryState,
  stateOfRepository,
} from "../core/document.ts";
import { signerFor } from "../core/signing.ts";

const kinds = ["primary", "filelists", "other"] as const;
type Kind = (typeof kinds)[number];

export type RpmRepository = Readonly<{ repomd: string; signature: string; state: RepositoryState }>;
type RpmList = Readonly<{ gzipped: Buffer }>;

/** The signed root of the repository; its lists are kept by their digest. */
export async function rpmRepository(
  repository: RegistryRepositoryRow,
  deps: Deps,
): Promise<RpmRepository> {
  const state = await stateOfRepository(repository, deps);
  const make = () => build(repository, state, deps);
  return cachedDocument(`rpm:${state.key}`, make, ({ repomd }) => repomd.length * 2);
}

const listKey = ({ id }: RegistryRepositoryRow, sha256: string, kind: string): string =>
  `rpm-list:${id}:${sha256}:${kind}`;

/** A list of this or an earlier revision. */
export async function rpmList(
  repository: RegistryRepositoryRow,
  { sha256, kind }: Readonly<{ sha256: string; kind: string }>,
  deps: Deps,
): Promise<Buffer | undefined> {
  const find = () => documentInCache<RpmList>(listKey(repository, sha256, kind))?.gzipped;
  const cached = find();
  if (cached !== undefined) return cached;
  // Another process made the root that names it, or it was dropped: it is made again.
  const { repomd, state } = await rpmRepository(repository, deps);
  if (!repomd.includes(`"repodata/${sha256}-${kind}.xml.gz"`)) return undefined;
  if (find() === undefined) await build(repository, state, deps);
  return find();
}

async function build(
  repository: RegistryRepositoryRow,
  state: RepositoryState,
  deps: Deps,
): Promise<RpmRepository> {
  const files = await filesOf(state, deps);
  const at = state.changedAt ?? repository.created_at;
  const data = await Promise.all(
    kinds.map(async (kind) => {
      const plain = Buffer.from(await listOf(kind, files, deps));
      const gzipped = await promisify(gzip)(plain);
      const [open, packed] = [sha256(plain), sha256(gzipped)];
      const key = listKey(repository, packed, kind);
      await cachedDocument(
        key,
        async () => ({ gzipped }),
        () => gzipped.length,
      );
      return `<data type="${kind}"><checksum type="sha256">${packed}</checksum><open-checksum type="sha256">${open}</open-checksum><location href="repodata/${packed}-${kind}.xml.gz"/><timestamp>${seconds(at)}</timestamp><size>${gzipped.length}</size><open-size>${plain.length}</open-size></data>\n`;
    }),
  );
  const repomd = `${declaration}<repomd xmlns="http://linux.duke.edu/metadata/repo" xmlns:rpm="http://linux.duke.edu/metadata/rpm">\n<revision>${seconds(at)}</revision>\n${data.join("")}</repomd>\n`;
  const signer = await signerFor(repository, deps);
  return { repomd, signature: await signer.detached(Buffer.from(repomd), at), state };
}

const declaration = '<?xml version="1.0" encoding="UTF-8"?>\n';
const sha256 = (content: Buffer) => createHash("sha256").update(content).digest("hex");
const seconds = (at: Date): number => Math.floor(at.getTime() / 1_000);

type Listed = Readonly<{ file: ListedFile; rpm: RpmMetadata }>;

/** Of a name, version and architecture, the first repository's. */
async function filesOf({ sources }: RepositoryState, deps: Deps): Promise<readonly Listed[]> {
  const found = new Map<string, Listed>();
  for (const { id } of sources) {
    for await (const { files } of packagesWithFiles(deps.db, id)) {
      for (const file of files) {
        const rpm = metadataOf(file) as RpmMetadata;
        const key = `${rpm.epoch} ${file.name}`;
        if (!found.has(key)) found.set(key, { file, rpm });
      }
    }
  }
  return [...found.values()];
}

const roots: Readonly<Record<Kind, readonly [element: string, namespaces: string]>> = {
  primary: [
    "metadata",
    'xmlns="http://linux.duke.edu/metadata/common" xmlns:rpm="http://linux.duke.edu/metadata/rpm"',
  ],
  filelists: ["filelists", 'xmlns="http://linux.duke.edu/metadata/filelists"'],
  other: ["otherdata", 'xmlns="http://linux.duke.edu/metadata/other"'],
};

async function listOf(kind: Kind, files: readonly Listed[], deps: Deps): Promise<string> {
  const [element, namespaces] = roots[kind];
  const parts: string[] = [];
  for (const listed of files) parts.push(await entryOf(kind, listed, deps));
  return `${declaration}<${element} ${namespaces} packages="${files.length}">\n${parts.join("")}</${element}>\n`;
}

async function entryOf(kind: Kind, listed: Listed, deps: Deps): Promise<string> {
  const files = kind === "other" ? [] : await pathsOf(listed, deps);
  if (kind === "primary") return primary(listed, files);
  const { file, rpm } = listed;
  const { name, architecture, changes } = rpm;
  const content =
    kind === "filelists"
      ? files.map(fileElement)
      : changes.map(
          ([author, time, text]) =>
            `<changelog author="${xml(author)}" date="${time}">${xml(text)}</changelog>\n`,
        );
  return `<package pkgid="${file.sha256}" name="${xml(name)}" arch="${xml(architecture)}">${versionElement(rpm)}\n${content.join("")}</package>\n`;
}

/** From the header of the package when they were too many to be kept beside it. */
async function pathsOf({ file, rpm }: Listed, deps: Deps): Promise<readonly RpmListedFile[]> {
  if (rpm.files !== undefined) return rpm.files;
  const [first, end] = rpm.header;
  const stream = await deps.blobs.read(file.sha256, { first, last: end - 1 });
  return rpmFilesOf(parseRpmHeader(await buffer(stream)));
}

/** Text that XML 1.0 can hold. */
const xml = (text: string): string =>
  text
    .replaceAll(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, "")
    .replaceAll(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);

const versionElement = ({ epoch, ver, rel }: RpmMetadata): string =>
  `<version epoch="${epoch}" ver="${xml(ver)}" rel="${xml(rel)}"/>`;

const fileTypes = { "": "", d: ' type="dir"', g: ' type="ghost"' } as const;

const fileElement = ([path, kind]: RpmListedFile): string =>
  `<file${fileTypes[kind]}>${xml(path)}</file>\n`;

/** Files that other packages depend on by their path. */
const isPrimary = ([path]: RpmListedFile): boolean =>
  path.startsWith("/etc/") || path.includes("bin/") || path === "/usr/lib/sendmail";

/** Below the base of the repository; two versions that differ in their epoch have files of one name. */
const locationOf = ({ name, epoch }: RpmMetadata, file: ListedFile): string =>
  ["packages", name, String(epoch), file.name].map(encodeURIComponent).join("/");

function primary({ file, rpm }: Listed, files: readonly RpmListedFile[]): string {
  const { texts, buildTime, installedBytes, archiveBytes, header } = rpm;
  const text = (name: string, element = name) =>
    `<${element}>${xml(texts[name] ?? "")}</${element}>`;
  const relations = rpmRelationKinds.flatMap((kind) => {
    const all = rpm.relations[kind];
    return all.length === 0 ? [] : [`<rpm:${kind}>${all.map(relation).join("")}</rpm:${kind}>\n`];
  });
  return `<package type="rpm"><name>${xml(rpm.name)}</name><arch>${xml(rpm.architecture)}</arch>${versionElement(rpm)}<checksum type="sha256" pkgid="YES">${file.sha256}</checksum>${text("summary")}${text("description")}${text("packager")}${text("url")}<time file="${seconds(file.created_at)}" build="${buildTime}"/><size package="${file.bytes}" installed="${installedBytes}" archive="${archiveBytes}"/><location href="${xml(locationOf(rpm, file))}"/>
<format>${text("license", "rpm:license")}${text("vendor", "rpm:vendor")}${text("group", "rpm:group")}${text("buildhost", "rpm:buildhost")}${text("sourcerpm", "rpm:sourcerpm")}<rpm:header-range start="${header[0]}" end="${header[1]}"/>
${relations.join("")}${files.filter(isPrimary).map(fileElement).join("")}</format></package>
`;
}

function relation({ name, pre, ...version }: RpmRelation): string {
  const attributes = Object.entries({ name, ...version, ...(pre && { pre: "1" }) });
  return `<rpm:entry ${attributes.map(([key, value]) => `${key}="${xml(value)}"`).join(" ")}/>`;
}
