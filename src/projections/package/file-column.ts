import type { PackageType } from "../../events/package/version.ts";
import { whyUnreadable } from "../../package/client-rule.ts";
import { pypiSummary } from "./pypi-summary.ts";
import { symbolOf } from "./symbol.ts";
import type { PackageFileRow } from "./table.ts";

type Stored = Readonly<{ name: string; metadata?: string | undefined }>;

/** What is read from the metadata of a file when it is stored. */
type FileColumns = Pick<PackageFileRow, "shown" | "symbol" | "unreadable">;

/** What the file is of. */
export type FileOwner = Readonly<{ type: PackageType; name: string; version: string }>;

export function columnsOf({ name, metadata }: Stored, owner: FileOwner): FileColumns {
  if (metadata === undefined) return { shown: null, symbol: null, unreadable: null };
  const { type } = owner;
  return {
    shown: type === "pypi" ? JSON.stringify(pypiSummary(metadata)) : null,
    symbol: type === "nuget" && name.endsWith(".pdb") ? symbolOf(metadata) : null,
    unreadable: whyUnreadable(type, { ...owner, metadata }) ?? null,
  };
}
