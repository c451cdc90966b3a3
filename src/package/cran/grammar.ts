import { badFile } from "../core/coordinates.ts";

/**
 * Dependencies as R reads them ("Writing R Extensions", 1.1.3; tools:::.split_dependencies). available.packages() stops
 * at a version of R in Depends that package_version() does not take.
 */

const fields = ["Depends", "Imports", "LinkingTo", "Suggests", "Enhances"] as const;
const one = /^([A-Za-z][A-Za-z0-9.]*) ?(?:\( ?(<=|>=|==|!=|<|>) ?([^ ()]+) ?\))?$/;
const versionForm = /^\d{1,9}(?:[.-]\d{1,9})*$/;
const lengthMax = 64 * 1024;

/** @throws Refusal 422 in the words of R */
export function checkCran(metadata: Readonly<Record<string, unknown>>): void {
  for (const field of fields) {
    const text = String(metadata[field] ?? "");
    if (text.length > lengthMax) throw badFile(`Its ${field} is over ${lengthMax} characters.`);
    for (const part of text.split(",")) {
      const plain = part.split(/\s+/).join(" ").trim();
      if (plain === "") continue;
      const [match, name, , version = "1"] = one.exec(plain) ?? [];
      // A revision of R is no version: `R (>= r1234)`.
      const isVersion = versionForm.test(version) || (name === "R" && /^r\d{1,9}$/.test(version));
      if (match !== undefined && isVersion) continue;
      throw badFile(
        `${field}: malformed or invalid version specification '${plain.slice(0, 200)}'`,
      );
    }
  }
}
