import { badFile, badVersion } from "../core/coordinates.ts";

/**
 * Relations as apt's debListParser::ParseDepends reads them (deb-control(5), deb-version(7)): one that it cannot parse
 * ends `apt update` for the whole list.
 */

/** As long as a control file may be: packages of Rust in Debian provide over 64 KiB of features. */
const lengthMax = 256 * 1024;
const one =
  /^([A-Za-z0-9][A-Za-z0-9+.-]*)(?::[a-z0-9-]+)? ?(?:\( ?(<<|<=|=|>=|>>|<|>) ?([^ ()]+) ?\))? ?(?:\[[^[\]]+\] ?)?(?:<[^<>]+> ?)*$/;
const relations = [
  "pre-depends",
  "depends",
  "recommends",
  "suggests",
  "enhances",
  "breaks",
] as const;
const others = ["conflicts", "replaces"] as const;

/** An epoch, a version, a revision; of a letter at the beginning dpkg only warns. */
export function isDebianVersion(version: string): boolean {
  const [, rest = ""] = /^(?:\d{1,9}:)?(.*)$/.exec(version) ?? [];
  const dash = rest.lastIndexOf("-");
  const upstream = dash < 0 ? rest : rest.slice(0, dash);
  const revision = dash < 0 ? "0" : rest.slice(dash + 1);
  return /^[A-Za-z0-9][A-Za-z0-9.+~:-]*$/.test(upstream) && /^[A-Za-z0-9+.~]+$/.test(revision);
}

function mustBeRelations(field: string, text: string, mayChoose: boolean): void {
  const all = text.split(/\s+/).join(" ").trim();
  if (all === "") return;
  if (all.length > lengthMax) throw badFile(`Its ${field} is over ${lengthMax} bytes.`);
  for (const group of all.replace(/,$/, "").split(",")) {
    const choices = group.split("|");
    if (choices.length > 1 && !mayChoose) throw badFile(`Its ${field} has alternatives.`);
    for (const choice of choices) {
      const [match, , , version] = one.exec(choice.trim()) ?? [];
      if (match !== undefined && (version === undefined || isDebianVersion(version))) continue;
      throw badFile(`Problem parsing dependency ${field}: '${choice.trim().slice(0, 200)}'`);
    }
  }
}

/** @param fields of the control file, names in lower case @throws Refusal 422 in the words of apt */
export function checkDebian(fields: ReadonlyMap<string, string>): void {
  const version = fields.get("version") ?? "";
  if (!isDebianVersion(version)) throw badVersion(`'${version}' is not a version: deb-version(7).`);
  for (const field of relations) mustBeRelations(field, fields.get(field) ?? "", true);
  for (const field of others) mustBeRelations(field, fields.get(field) ?? "", false);
  mustBeRelations("provides", fields.get("provides") ?? "", false);
}
