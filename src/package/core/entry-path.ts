import { withoutTrailing } from "../../platform/trim.ts";
import { badFile } from "./coordinates.ts";

/**
 * Refuses paths of an archive that lead out of the directory it is unpacked to, and a path that is there twice:
 * readers differ in which of the two they take.
 *
 * @param entriesMax an archive with more is refused
 * @param options `foldsCase`: two paths are one where case or the form of Unicode does not count. Clients of npm,
 *   cargo and PyPI make packages with such paths, and their public registries take them.
 */
export function entryPaths(
  entriesMax: number,
  { foldsCase = false }: Readonly<{ foldsCase?: boolean }> = {},
): (path: string) => string {
  const seen = new Set<string>();
  let entries = 0;
  return (path) => {
    entries += 1;
    if (entries > entriesMax) throw badFile(`An archive has at most ${entriesMax} files.`);
    const plain = withoutTrailing(path.replace(/^(?:\.\/)+/, ""), "/");
    if (plain === "" || plain === ".") return "";
    const leadsOut =
      plain.startsWith("/") ||
      /^[A-Za-z]:[\\/]|[\\\0]/.test(plain) ||
      plain.split("/").some((part) => part === "..");
    if (leadsOut) throw badFile("It holds a path that leads out of it.");
    // A directory may be named again, as tools do; it is nothing but its name.
    const key = foldsCase ? folded(plain) : plain;
    if (seen.has(key) && !path.endsWith("/")) throw badFile("It holds one path twice.");
    seen.add(key);
    return plain;
  };
}

const folded = (path: string): string => path.normalize("NFC").toLowerCase();

/**
 * Says whether a path is that of a wanted file but for case or the form of Unicode: on some machines it takes its
 * place.
 *
 * @param wanted of the path within the archive
 */
export function shadowOf(wanted: RegExp): (path: string) => boolean {
  const anyCase = new RegExp(wanted.source, "i");
  return (path) => !wanted.test(path) && anyCase.test(folded(path));
}
