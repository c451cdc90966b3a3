import { z } from "zod";

const Dist = z.looseObject({
  tarball: z.string().max(4_096),
  integrity: z.string().max(4_096).optional(),
  shasum: z.string().max(255).optional(),
});
const Version = z.looseObject({ dist: Dist });
const Packument = z.looseObject({
  name: z.string(),
  "dist-tags": z.record(z.string(), z.string()).default({}),
  versions: z.record(z.string(), Version).default({}),
});
type Packument = z.output<typeof Packument>;

/** Where a tarball is, and what is promised of it. */
export type PackumentDist = Readonly<{
  tarball: string;
  integrity?: string | undefined;
  shasum?: string | undefined;
}>;

/** A query on a document of npm that another registry made; npm/registry, docs/responses/package-metadata.md. */
export type PackumentQuestion = Readonly<{
  bytes: Uint8Array;
  /** The package it has to be of. */
  name: string;
  want:
    | Readonly<{ kind: "document"; base: string }>
    /** One version, by its number or a tag. */
    | Readonly<{ kind: "version"; base: string; version: string }>
    /** The version whose tarball has this name. */
    | Readonly<{ kind: "dist"; file: string }>;
}>;

export type PackumentAnswer =
  /** JSON, with the tarballs below `base`. */
  | Readonly<{ kind: "json"; bytes: Uint8Array }>
  | Readonly<{ kind: "dist"; dist: PackumentDist }>
  | Readonly<{ kind: "missing" }>
  /** It is no document of this package. */
  | Readonly<{ kind: "malformed" }>;

/** Takes as long as the document is large: 64 MiB take seconds. */
export function parsePackument(question: PackumentQuestion): PackumentAnswer {
  try {
    return answerTo(question);
  } catch (error) {
    // It nests too deep to be written.
    if (error instanceof RangeError) return { kind: "malformed" };
    throw error;
  }
}

function answerTo({ bytes, name, want }: PackumentQuestion): PackumentAnswer {
  const document = packumentIn(bytes, name);
  if (document === undefined) return { kind: "malformed" };
  const { versions, "dist-tags": tags } = document;
  switch (want.kind) {
    case "document": {
      const all = Object.entries(versions).map(([version, manifest]) => [
        version,
        served(want.base, name, manifest),
      ]);
      return json({ ...document, versions: Object.fromEntries(all) });
    }
    case "version": {
      const version = Object.hasOwn(tags, want.version) ? tags[want.version] : want.version;
      if (version === undefined || !Object.hasOwn(versions, version)) return { kind: "missing" };
      return json(served(want.base, name, Version.parse(versions[version])));
    }
    default: {
      const found = Object.values(versions).find(({ dist }) => fileOf(dist) === want.file);
      if (found === undefined) return { kind: "missing" };
      const { tarball, integrity, shasum } = found.dist;
      return { kind: "dist", dist: { tarball, integrity, shasum } };
    }
  }
}

function packumentIn(bytes: Uint8Array, name: string): Packument | undefined {
  try {
    const found = Packument.safeParse(JSON.parse(new TextDecoder().decode(bytes)));
    return found.success && found.data.name === name ? found.data : undefined;
  } catch {
    return undefined;
  }
}

const json = (value: unknown): PackumentAnswer => ({
  kind: "json",
  bytes: new TextEncoder().encode(JSON.stringify(value)),
});

const fileOf = ({ tarball }: PackumentDist): string =>
  URL.canParse(tarball) ? (new URL(tarball).pathname.split("/").at(-1) ?? "") : "";

/** With the tarball at this service. */
const served = (base: string, name: string, version: z.output<typeof Version>) => ({
  ...version,
  dist: { ...version.dist, tarball: `${base}/${name}/-/${fileOf(version.dist)}` },
});
