import type { PackageType } from "../../events/package/version.ts";
import { pypiShown } from "./pypi-shown.ts";
import { symbolOf } from "./symbol.ts";

type Stored = Readonly<{ name: string; metadata?: string | undefined }>;

/** What is read from the metadata of a file when it is stored. */
export type FileColumns = Readonly<{
  /** What indexes show of a file of PyPI, whose metadata holds a long text; null: all of it. */
  shown: string | null;
  /** The key by which debuggers request a file of symbols; null: it is another. */
  symbol: string | null;
}>;

export async function columnsOf(
  { name, metadata }: Stored,
  typeOf: () => Promise<PackageType | undefined>,
): Promise<FileColumns> {
  if (metadata === undefined) return { shown: null, symbol: null };
  const type = await typeOf();
  return {
    shown: type === "pypi" ? JSON.stringify(pypiShown(metadata)) : null,
    symbol: type === "nuget" && name.endsWith(".pdb") ? symbolOf(metadata) : null,
  };
}
