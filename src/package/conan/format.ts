import { readFile } from "node:fs/promises";

import { compileTemplate } from "../../platform/name-template.ts";
import {
  badFile,
  badName,
  type PackageName,
  type PackageVersionName,
} from "../core/coordinates.ts";
import { manifestText } from "../core/manifest-text.ts";

const partForm = /^[a-zA-Z0-9_][a-zA-Z0-9_+.-]{0,100}$/;
/** MD5, SHA-1 or the hash of a commit. */
const revisionForm = /^[0-9a-f]{32,64}$/;
const pathForm = /^[A-Za-z0-9._+-]+(?:\/[A-Za-z0-9._+-]+){0,8}$/;
const leadsElsewhere = /(?:^|\/)\.{1,2}(?:\/|$)/;
const pathLengthMax = 255;
const smallFileMax = 128 * 1024;

export const conanManifest = "conanmanifest.txt";
export const conanInfo = "conaninfo.txt";

export type ConanReference = Readonly<{
  name: string;
  version: string;
  user: string;
  channel: string;
}>;

/** A recipe; without a user and a channel they are `_`. @throws Refusal 422 */
export function conanName({ name, version, user, channel }: ConanReference): PackageName {
  const isReference = [name, version, user, channel].every((part) => partForm.test(part));
  if (!isReference) throw badName("A reference is name/version@user/channel.");
  const at = user === "_" && channel === "_" ? "" : `@${user}/${channel}`;
  const whole = `${name}/${version}${at}`;
  return { name: whole, groupId: user, artifactId: name, key: whole };
}

/**
 * What a search matches: `*` is any run, `?` one character, and case does not count. A pattern of the
 * first parts of a reference finds all that begin with them.
 */
export function conanPattern(pattern: string): (name: string) => boolean {
  const template = pattern.toLowerCase().replaceAll(/\*+/g, "**");
  const forms = [template, `${template}@**`, `${template}/**`].map(compileTemplate);
  return (name) => forms.some((fits) => fits(name.toLowerCase()));
}

/** What a revision is of: a recipe, or a binary of a revision of it. */
export type ConanRevision = Readonly<{
  recipe: string;
  binary?: Readonly<{ id: string; revision: string }>;
}>;

/** @throws Refusal 422 */
export function conanRevision({ recipe, binary }: ConanRevision): PackageVersionName {
  const parts = binary === undefined ? [recipe] : [recipe, binary.id, binary.revision];
  if (!parts.every((part) => revisionForm.test(part))) {
    throw badName("A revision is 32 to 64 hexadecimal digits.");
  }
  const version = binary === undefined ? recipe : `${recipe}:${binary.id}#${binary.revision}`;
  return { version, key: version };
}

/** The other way round. */
export function parseConanRevision(version: string): ConanRevision {
  const [recipe = "", rest] = version.split(":");
  const [id = "", revision = ""] = rest?.split("#") ?? [];
  return rest === undefined ? { recipe } : { recipe, binary: { id, revision } };
}

/** @throws Refusal 422 */
export function conanPath(path: string): string {
  const isPath = path.length <= pathLengthMax && pathForm.test(path) && !leadsElsewhere.test(path);
  if (isPath) return path;
  throw badName("A path is letters, digits and ._+- in at most nine folders.");
}

/** MD5 by path, as the manifest of a revision says. @throws Refusal 422 */
export async function readConanManifest(file: string): Promise<ReadonlyMap<string, string>> {
  const [time = "", ...lines] = (await smallText(file, conanManifest)).trim().split(/\r?\n/);
  const sums = lines.map((line) => /^(.+): ([0-9a-f]{32})$/.exec(line));
  if (!/^\d+$/.test(time) || sums.includes(null)) throw badFile("It is no manifest of conan.");
  return new Map(sums.map((found) => [found?.[1] ?? "", found?.[2] ?? ""]));
}

/** The text of a small file. @throws Refusal 422 */
export async function smallText(file: string, name: string): Promise<string> {
  const bytes = await readFile(file);
  if (bytes.length > smallFileMax) throw badFile(`Its ${name} is over ${smallFileMax} bytes.`);
  return manifestText(bytes, name);
}
