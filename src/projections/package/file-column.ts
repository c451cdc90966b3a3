import type { PackageType } from "../../events/package/version.ts";
import { whyUnreadable } from "../../platform/package/grammar/client-rule.ts";
import { pypiShown } from "./pypi-shown.ts";
import { symbolOf } from "./symbol.ts";

type Stored = Readonly<{ name: string; metadata?: string | undefined }>;

/** What is read from the metadata of a file when it is stored. */
export type FileColumns = Readonly<{
  /** What indexes show of a file of PyPI, whose metadata holds a long text; null: all of it. */
  shown: string | null;
  /** The key by which debuggers request a file of symbols; null: it is another. */
  symbol: string | null;
  /** Why the client of the ecosystem cannot parse it, which keeps it out of indexes; null: it can. */
  unreadable: string | null;
}>;

/** What the file is of. */
export type FileOwner = Readonly<{ type: PackageType; name: string; version: string }>;

export function columnsOf({ name, metadata }: Stored, owner: FileOwner): FileColumns {
  if (metadata === undefined) return { shown: null, symbol: null, unreadable: null };
  const { type } = owner;
  return {
    shown: type === "pypi" ? JSON.stringify(pypiShown(metadata)) : null,
    symbol: type === "nuget" && name.endsWith(".pdb") ? symbolOf(metadata) : null,
    unreadable: whyUnreadable(type, { ...owner, metadata }) ?? null,
  };
}
