import { readFile } from "node:fs/promises";
import semver from "semver";
import { z } from "zod";

import { parseYaml } from "../../platform/bounded-yaml.ts";
import { outsideList } from "../../platform/outside-list.ts";
import {
  badFile,
  badName,
  badVersion,
  type PackageFileName,
  type PackageName,
  type PackageVersionName,
} from "../core/coordinates.ts";
import { manifestText } from "../core/manifest-text.ts";
import { tarFileText } from "../core/tar-walk.ts";

/** What Helm itself unpacks at most: a chart, and one file of it. */
const chartBytesMax = 100 * 1024 ** 2;
const fileBytesMax = 5 * 1024 ** 2;
const provenanceBytesMax = 1024 ** 2;
const chartFileBytesMax = 128 * 1024;
const depthMax = 32;
const nameForm = /^[a-z0-9](?:[a-z0-9._-]{0,248}[a-z0-9])?$/;
const chartFile = { path: /^[^/]+\/Chart\.yaml$/, name: "Chart.yaml" };

const text = z.union([z.string(), z.number(), z.boolean()]).transform(String);
const Maintainer = z.object({ name: text, email: text.optional(), url: text.optional() });
const Dependency = z.object({
  name: text,
  version: text.optional(),
  repository: text.optional(),
  condition: text.optional(),
  tags: outsideList(text).optional(),
  alias: text.optional(),
});

/** helm.sh/docs/topics/charts/#the-chartyaml-file */
const Chart = z.object({
  apiVersion: text,
  name: z.string(),
  version: text,
  kubeVersion: text.optional(),
  description: text.optional(),
  type: z.enum(["application", "library"]).optional(),
  keywords: outsideList(text).optional(),
  home: text.optional(),
  sources: outsideList(text).optional(),
  dependencies: outsideList(Dependency).optional(),
  maintainers: outsideList(Maintainer).optional(),
  icon: text.optional(),
  appVersion: text.optional(),
  deprecated: z.boolean().optional(),
  annotations: z.record(z.string(), text).optional(),
});

/** @throws Refusal 422 */
export function helmName(name: string): PackageName {
  if (!nameForm.test(name)) {
    throw badName("A chart's name is lower case letters, digits and dashes, 250 at most.");
  }
  return { name, groupId: "", artifactId: name, key: name };
}

/** @throws Refusal 422 */
export function helmVersion(version: string): PackageVersionName {
  if (version.length > 200 || semver.parse(version)?.raw !== version || /^[v=\s]/.test(version)) {
    throw badVersion("This is not a version as semver.org writes them.");
  }
  return { version, key: version };
}

const chartFileName = ({ name }: PackageName, { version }: PackageVersionName): string =>
  `${name}-${version}.tgz`;

/** What a chart is by its Chart.yaml. @throws Refusal 422 */
export async function readChart(
  file: string,
): Promise<PackageFileName & Readonly<{ metadata: z.output<typeof Chart> }>> {
  const folders = new Set<string>();
  const yaml = await tarFileText(
    file,
    chartFile,
    { compression: "gzip", bytesMax: chartBytesMax },
    ({ path, bytes }) => {
      folders.add(path.split("/")[0] ?? "");
      if (bytes > fileBytesMax)
        throw badFile(`A file of a chart has ${fileBytesMax} bytes at most.`);
    },
  );
  const chart = chartOf(yaml);
  const packageName = helmName(chart.name);
  const version = helmVersion(chart.version);
  if (folders.size !== 1 || !folders.has(chart.name)) {
    throw badFile(`All of its files stand in a folder with its name, ${chart.name}.`);
  }
  const fileName = chartFileName(packageName, version);
  return { packageName, version, fileName, languageVersion: null, metadata: chart };
}

/** @throws Refusal 422 */
export function chartOf(yaml: string): z.output<typeof Chart> {
  if (Buffer.byteLength(yaml) > chartFileBytesMax) {
    throw badFile(`Its Chart.yaml is over ${chartFileBytesMax} bytes.`);
  }
  const parsed = Chart.safeParse(yamlOf(yaml));
  if (parsed.success) return parsed.data;
  const fields = parsed.error.issues.map(({ path }) => path.join(".") || "all of it");
  throw badFile(`Its Chart.yaml lacks or misspells: ${fields.join(", ")}.`);
}

function yamlOf(yaml: string): unknown {
  try {
    // Of equal keys the last counts, as in Helm.
    return parseYaml(yaml, { depthMax, maxAliasCount: 100, schema: "core", merge: false });
  } catch {
    throw badFile("Its Chart.yaml is not YAML.");
  }
}

/** Which chart a provenance file is of: a signed text that begins with its Chart.yaml. @throws Refusal 422 */
export async function readProvenance(file: string, bytes: number): Promise<PackageFileName> {
  if (bytes > provenanceBytesMax) throw badFile(`It is over ${provenanceBytesMax} bytes.`);
  const signed = manifestText(await readFile(file), "provenance");
  const [head] = /^-----BEGIN PGP SIGNED MESSAGE-----\r?\n(?:.+\r?\n)*\r?\n/.exec(signed) ?? [];
  const body = signed.slice(head?.length).split(/\r?\n-----BEGIN PGP SIGNATURE-----/, 2);
  const yaml = body[0]?.split(/^\.\.\.\r?$/m)[0];
  if (head === undefined || body.length < 2 || !yaml) {
    throw badFile("It is no provenance file of a chart.");
  }
  const chart = chartOf(yaml);
  const packageName = helmName(chart.name);
  const version = helmVersion(chart.version);
  const fileName = `${chartFileName(packageName, version)}.prov`;
  return { packageName, version, fileName, languageVersion: null };
}
