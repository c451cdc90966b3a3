import { hash } from "node:crypto";

import { clipText, storableText } from "../platform/storable-text.ts";
import { expandOwnText } from "./expand.ts";

const lengthMax = 255;

/** A name with variables filled in, in characters that every store keeps; null for an empty one. */
export function environmentNameOf(
  written: string,
  lookup: (name: string) => string | undefined,
): string | null {
  const text = storableText(expandOwnText(written, lookup));
  return clipText(text.trim(), lengthMax).trim() || null;
}

const slugLengthMax = 24;
const partLengthMax = 17;
const suffixLength = 6;

/**
 * The name of an environment as it may stand in a host name. One that differs from the name ends with characters that
 * follow from the name, as in GitLab, because several names would have the same slug.
 */
export function environmentSlug(name: string): string {
  const plain = name.toLowerCase().replaceAll(/[^a-z0-9]/g, "-");
  const slug = (/^[a-z]/.test(plain) ? plain : `env-${plain}`).replaceAll(/-+/g, "-");
  if (slug === name && slug.length <= slugLengthMax) return slug.replace(/-$/, "");
  const part = slug.slice(0, partLengthMax);
  const suffix = BigInt(`0x${hash("sha256", name)}`)
    .toString(36)
    .slice(-suffixLength);
  return `${part}${part.endsWith("-") ? "" : "-"}${suffix}`;
}

/** By the first that the name contains. */
const tiers = [
  ["development", /dev|review|trunk/i],
  ["testing", /test|tst|int|ac(?:ce)?pt|qa|qc|control|quality/i],
  ["staging", /sta?g|mode?l|pre|demo|non/i],
  ["production", /pro?d|live/i],
] as const;

/** What an environment is for, as GitLab takes it from its name where the file has no `deployment_tier`. */
export const tierOf = (name: string): string =>
  tiers.find(([, pattern]) => pattern.test(name))?.[0] ?? "other";
