import type { PackageType } from "../../events/package/version.ts";
import { whyUnreadable } from "../../package/client-rule.ts";
import { searchedIn } from "../../package/searched.ts";
import { pypiSummary } from "./pypi-summary.ts";
import { symbolOf } from "./symbol.ts";
import type { PackageFileRow } from "./table.ts";

type Stored = Readonly<{ name: string; metadata?: string | undefined }>;

/** What is read from the metadata of a file when it is stored. */
type FileColumns = Pick<PackageFileRow, "shown" | "symbol" | "unreadable" | "words" | "traits">;

const none: FileColumns = {
  ...{ shown: null, symbol: null, unreadable: null, words: null, traits: null },
};

/** What the file is of. */
export type FileOwner = Readonly<{ type: PackageType; name: string; version: string }>;

export function columnsOf({ name, metadata }: Stored, owner: FileOwner): FileColumns {
  if (metadata === undefined) return none;
  const { type } = owner;
  const isSymbol = type === "nuget" && name.endsWith(".pdb");
  const { version } = owner;
  return {
    ...none,
    ...(isSymbol ? {} : searchedIn(type, { version, metadata })),
    shown: type === "pypi" ? JSON.stringify(pypiSummary(metadata)) : null,
    symbol: isSymbol ? symbolOf(metadata) : null,
    unreadable: whyUnreadable(type, { ...owner, metadata }) ?? null,
  };
}
