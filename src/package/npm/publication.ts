import { z } from "zod";

import { Refusal } from "../../platform/refusal.ts";
import { mustBeStorable } from "../../platform/storable-text.ts";

const versionsMax = 300_000;
const tagsBytesMax = 1024 ** 2;
const messageLengthMax = 1_000;

const sum = z
  .string()
  .nullish()
  .transform((text) => text ?? "");

const Document = z.object({
  "dist-tags": z.record(z.string(), z.string()).default({}),
  versions: z.record(
    z.string(),
    z
      .object({
        deprecated: z.string().optional().catch(undefined),
        dist: z.object({ integrity: sum, shasum: sum }).nullish(),
      })
      .transform(({ deprecated, dist }) => ({
        message: deprecated?.slice(0, messageLengthMax) ?? null,
        dist: dist ?? { integrity: "", shasum: "" },
      })),
  ),
});

type Document = z.output<typeof Document>;

/** What is read of a publication beside its tarball. */
export type Publication = Readonly<{
  "dist-tags": Document["dist-tags"];
  /** Deprecations of wanted versions. */
  versions: Readonly<Record<string, string | null>>;
  /** Checksums of the one that is published; empty where it has none. */
  dist: Document["versions"][string]["dist"] | undefined;
}>;

export type PublicationQuestion = Readonly<{
  bytes: Uint8Array;
  /** Versions that are answered: all that a document may name would take long to receive. */
  wanted: readonly string[];
}>;

/**
 * @returns undefined when it is not what npm sends
 * @throws Refusal 400 when it is not JSON, 413 when it says too much, 422 for what cannot be stored
 */
export function parsePublication({ bytes, wanted }: PublicationQuestion): Publication | undefined {
  const { success, data } = Document.safeParse(parsed(bytes));
  if (!success) return undefined;
  if (Object.keys(data.versions).length > versionsMax) throw tooLarge(`${versionsMax} versions`);
  const isLong = JSON.stringify(data["dist-tags"]).length > tagsBytesMax;
  if (isLong) throw tooLarge(`${tagsBytesMax} bytes of tags`);
  const isWanted = new Set(wanted);
  const versions = Object.entries(data.versions).filter(([version]) => isWanted.has(version));
  const messages = versions.map(([version, { message }]) => [version, message] as const);
  const publication = {
    "dist-tags": data["dist-tags"],
    versions: Object.fromEntries(messages),
    dist: wanted.length === 1 ? versions[0]?.[1].dist : undefined,
  };
  mustBeStorable(publication);
  return publication;
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    throw notJson("it does not parse");
  }
}

export const tooLarge = (limit: string): Refusal =>
  new Refusal("too_large", "body.too_large", `Beside the tarball it has more than ${limit}.`);

export const notJson = (why: string): Refusal =>
  new Refusal("bad_request", "body.not_json", `The body must be what npm sends; ${why}.`);
