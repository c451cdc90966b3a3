import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { z } from "zod";

import { isDebianPart } from "../../../../package/debian/format.ts";
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

/** Served where packages of no machine's own are all there is. */
const architecturesAlways = ["amd64", "arm64"] as const;

const Metadata = z.object({ control: z.string(), architecture: z.string() });

/** A list of packages, kept compressed. */
export type DebianList = Readonly<{
  gzipped: Buffer;
  /** Of the list and of its compressed form: digest and length. */
  plain: Sum;
  packed: Sum;
}>;
type Sum = Readonly<{ sha256: string; bytes: number }>;

/** Lists of a distribution by their path: `main/binary-amd64/Packages`. */
type Lists = ReadonlyMap<string, DebianList>;

/** One distribution, all of the same revision. */
export type Distribution = Readonly<{
  lists: Lists;
  release: string;
  signed: string;
  signature: string;
  state: RepositoryState;
}>;

const sumOf = (content: Buffer): Sum => ({
  sha256: createHash("sha256").update(content).digest("hex"),
  bytes: content.length,
});

/** Undefined when there is no such distribution. */
export async function distributionOf(
  repository: RegistryRepositoryRow,
  name: string,
  deps: Deps,
): Promise<Distribution | undefined> {
  // Before all packages are looked through.
  if (!isDebianPart(name)) return undefined;
  const state = await stateOfRepository(repository, deps);
  const make = () => build(repository, { name, state }, deps);
  const { found } = await cachedDocument(`debian:${name}:${state.key}`, make, ({ found: one }) =>
    one === undefined
      ? 1
      : one.release.length * 3 +
        [...one.lists.values()].reduce((sum, { gzipped }) => sum + gzipped.length, 0),
  );
  return found;
}

type Build = Readonly<{ name: string; state: RepositoryState }>;

async function build(
  repository: RegistryRepositoryRow,
  { name, state }: Build,
  deps: Deps,
): Promise<Readonly<{ found: Distribution | undefined }>> {
  const stanzas = await stanzasOf(state, name, deps);
  if (stanzas.size === 0) return { found: undefined };
  const lists = new Map<string, DebianList>();
  const architectures = new Set<string>(architecturesAlways);
  for (const byArchitecture of stanzas.values()) {
    for (const each of byArchitecture.keys()) if (each !== "all") architectures.add(each);
  }
  for (const [component, byArchitecture] of stanzas) {
    for (const architecture of architectures) {
      const own = byArchitecture.get(architecture) ?? [];
      const text = [...own, ...(byArchitecture.get("all") ?? [])].join("\n");
      const plain = Buffer.from(text);
      const gzipped = await promisify(gzip)(plain);
      const list = { gzipped, plain: sumOf(plain), packed: sumOf(gzipped) };
      lists.set(`${component}/binary-${architecture}/Packages`, list);
    }
  }
  // They stay for those who have read an older Release.
  for (const list of lists.values()) await keepByHash(repository, list);
  const at = state.changedAt ?? repository.created_at;
  const about = { name, repository, at, components: [...stanzas.keys()].sort() };
  const release = releaseOf({ ...about, architectures: [...architectures].sort() }, lists);
  const signer = await signerFor(repository, deps);
  const signed = await signer.clear(release, at);
  const signature = await signer.detached(Buffer.from(release), at);
  return { found: { lists, release, signed, signature, state } };
}

/** By component and architecture. */
async function stanzasOf({ sources }: RepositoryState, name: string, deps: Deps) {
  const stanzas = new Map<string, Map<string, string[]>>();
  const seen = new Set<string>();
  for (const { id } of sources) {
    for await (const { row, files } of packagesWithFiles(deps.db, id)) {
      const [distribution = "", component = ""] = row.group_id.split("/");
      if (distribution !== name) continue;
      for (const file of files) {
        const path = poolPath(row.group_id, row.name, file);
        if (seen.has(path)) continue;
        seen.add(path);
        const { control, architecture } = Metadata.parse(metadataOf(file));
        const byArchitecture = stanzas.get(component) ?? new Map<string, string[]>();
        stanzas.set(component, byArchitecture);
        const list = byArchitecture.get(architecture) ?? [];
        byArchitecture.set(architecture, list);
        list.push(stanza(control, path, file));
      }
    }
  }
  return stanzas;
}

const stanza = (control: string, path: string, file: ListedFile): string =>
  `${control}\nFilename: ${path}\nSize: ${file.bytes}\nMD5sum: ${file.md5}\nSHA1: ${file.sha1}\nSHA256: ${file.sha256}\n`;

/** Two versions that differ in their epoch have files of the same name. */
function poolPath(place: string, name: string, { version, name: file }: ListedFile): string {
  const [, epoch = "0"] = /^(\d+):/.exec(version) ?? [];
  return `pool/${place}/${name}/${epoch}/${file}`;
}

type Release = Readonly<{
  name: string;
  repository: RegistryRepositoryRow;
  at: Date;
  components: readonly string[];
  architectures: readonly string[];
}>;

/** wiki.debian.org/DebianRepository/Format */
function releaseOf(
  { name, repository, at, components, architectures }: Release,
  lists: Lists,
): string {
  const sums = [...lists].flatMap(([path, { plain, packed }]) => [
    ` ${plain.sha256} ${plain.bytes} ${path}`,
    ` ${packed.sha256} ${packed.bytes} ${path}.gz`,
  ]);
  const lines = [
    `Origin: ${repository.name}`,
    `Label: ${repository.name}`,
    `Suite: ${name}`,
    `Codename: ${name}`,
    `Date: ${at.toUTCString().replace("GMT", "UTC")}`,
    `Architectures: ${architectures.join(" ")}`,
    `Components: ${components.join(" ")}`,
    "Acquire-By-Hash: yes",
    "SHA256:",
    ...sums,
  ];
  return `${lines.join("\n")}\n`;
}

const hashKey = ({ id }: RegistryRepositoryRow, sha256: string): string =>
  `debian-hash:${id}:${sha256}`;

async function keepByHash(repository: RegistryRepositoryRow, list: DebianList): Promise<void> {
  for (const { sha256 } of [list.plain, list.packed]) {
    await cachedDocument(
      hashKey(repository, sha256),
      async () => list,
      () => list.gzipped.length,
    );
  }
}

/** A list of this or an earlier revision. */
export const listByHash = (
  repository: RegistryRepositoryRow,
  sha256: string,
): DebianList | undefined => documentInCache<DebianList>(hashKey(repository, sha256));
