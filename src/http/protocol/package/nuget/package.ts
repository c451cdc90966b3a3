import { z } from "zod";

import type { PackageName } from "../../../../package/core/coordinates.ts";
import { compareNuget, nugetName, nugetVersion } from "../../../../package/nuget/format.ts";
import type { ListedFile } from "../../../../projections/package/registry.ts";
import { orNotFound } from "../../../api/package/request.ts";
import type { Deps } from "../../../core/deps.ts";
import { filesNamed, metadataOf } from "../core/document.ts";
import type { NativeRequest } from "../core/type.ts";

export const type = "nuget";

const Metadata = z.object({
  nuspec: z.string().catch(""),
  fields: z.record(z.string(), z.string()).catch({}),
  dependencyGroups: z
    .array(
      z.object({
        targetFramework: z.string().optional(),
        dependencies: z.array(z.object({ id: z.string(), range: z.string() })),
      }),
    )
    .catch([]),
  packageTypes: z.array(z.string()).catch([]),
});

export type NugetVersion = Readonly<{
  file: ListedFile;
  /** Its version without case, zeros and build metadata. */
  key: string;
  metadata: z.output<typeof Metadata>;
  isListed: boolean;
}>;

export type NugetPackage = Readonly<{
  name: PackageName;
  /** In ascending order, unlisted ones included. */
  versions: readonly NugetVersion[];
}>;

/** The package that the path names. @throws Refusal 404 */
export function packageOf(native: NativeRequest, deps: Deps): Promise<NugetPackage> {
  const name = orNotFound(() => nugetName(native.params["id"] ?? ""));
  return nugetPackage(name, native, deps);
}

/** @throws Refusal 404 when no version is there */
export async function nugetPackage(
  name: PackageName,
  { repository }: Pick<NativeRequest, "repository">,
  deps: Deps,
): Promise<NugetPackage> {
  const keyOf = ({ version }: ListedFile) => nugetVersion(version).key;
  // A version may have symbols as well.
  const isPackage = (file: ListedFile) => file.name.endsWith(".nupkg");
  const nameOf = (file: ListedFile) => (isPackage(file) ? keyOf(file) : file.id);
  const files = await filesNamed(repository, { type, name }, nameOf, deps);
  const versions = files.filter(isPackage).map((file) => ({
    file,
    key: keyOf(file),
    metadata: Metadata.parse(metadataOf(file)),
    isListed: file.yank_reason === null,
  }));
  return { name, versions: versions.sort((a, b) => compareNuget(a.key, b.key)) };
}
