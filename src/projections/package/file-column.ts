import type { PackageType } from "../../events/package/version.ts";
import { pypiShown } from "./pypi-shown.ts";
import { symbolOf } from "./symbol.ts";
import type { PackageFileRow } from "./version.ts";

type Stored = Readonly<{ name: string; metadata?: string | undefined }>;

/** What is read from a file's metadata when it is stored, beside the metadata itself. */
export async function columnsOf(
  { name, metadata }: Stored,
  typeOf: () => Promise<PackageType | undefined>,
): Promise<Pick<PackageFileRow, "shown" | "symbol">> {
  if (metadata === undefined) return { shown: null, symbol: null };
  const type = await typeOf();
  return {
    shown: type === "pypi" ? JSON.stringify(pypiShown(metadata)) : null,
    symbol: type === "nuget" && name.endsWith(".pdb") ? symbolOf(metadata) : null,
  };
}
