import { z } from "zod";

import {
  badName,
  mismatch,
  type PackageFileName,
  type PackageName,
  type PackageVersionName,
} from "./coordinates.ts";
import { dottedKey } from "./dotted-version.ts";
import { plainVersion } from "./generic.ts";
import { parseManifest } from "./manifest.ts";
import { readZipEntry } from "./zip.ts";

/** getcomposer.org/doc/04-schema.md#name */
const vendorForm = /^[a-z0-9]+(?:[_.-][a-z0-9]+)*$/;
const packageForm = /^[a-z0-9]+(?:(?:[_.]|-{1,2})[a-z0-9]+)*$/;
/** At the root, or below the one directory that archives of repositories have. */
const manifestFile = { path: /^(?:[^/]+\/)?composer\.json$/, name: "composer.json" };

const Manifest = z.object({
  name: z.string(),
  version: z.string().optional(),
  require: z.object({ php: z.string() }).optional().catch(undefined),
});

/** @throws Refusal 422 */
export function composerName(groupId: string, artifactId: string): PackageName {
  if (!vendorForm.test(groupId) || !packageForm.test(artifactId)) {
    throw badName("A name is vendor/package in lower case letters and digits with ., _ and -.");
  }
  const name = `${groupId}/${artifactId}`;
  return { name, groupId, artifactId, key: name };
}

/** `v1.0` and `1.0.0` are the same version. @throws Refusal 422 */
export function composerVersion(text: string): PackageVersionName {
  const { version } = plainVersion(text);
  return { version, key: dottedKey(version.replace(/^v(?=\d)/i, "")) ?? version.toLowerCase() };
}

export function composerFileName(
  { groupId, artifactId }: PackageName,
  version: PackageVersionName,
) {
  return `${groupId}-${artifactId}-${version.key}.zip`;
}

/** Which package the zip is of. @throws Refusal 422 */
export async function readComposerZip(
  file: string,
  version: PackageVersionName,
): Promise<PackageFileName> {
  const text = await readZipEntry(file, manifestFile);
  const manifest = parseManifest(Manifest, text, manifestFile.name);
  const [vendor = "", artifact = "", ...more] = manifest.name.split("/");
  if (more.length > 0) throw badName("composer.json names no vendor/package.");
  const packageName = composerName(vendor, artifact);
  const told = manifest.version;
  if (told !== undefined && composerVersion(told).key !== version.key) {
    throw mismatch("version", version.version, told);
  }
  const languageVersion = manifest.require?.php ?? null;
  const fileName = composerFileName(packageName, version);
  return { packageName, version, fileName, languageVersion };
}
