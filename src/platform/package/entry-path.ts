import { badFile } from "./coordinates.ts";

/**
 * Refuses paths of an archive that lead out of the directory it is unpacked to, and two that are one file
 * where case or the form of Unicode does not count.
 *
 * @param entriesMax an archive with more is refused
 */
export function entryPaths(entriesMax: number): (path: string) => string {
  const seen = new Set<string>();
  let entries = 0;
  return (path) => {
    entries += 1;
    if (entries > entriesMax) throw badFile(`An archive has at most ${entriesMax} files.`);
    const plain = path.replace(/^(?:\.\/)+/, "").replace(/\/+$/, "");
    if (plain === "" || plain === ".") return "";
    const leadsOut =
      plain.startsWith("/") ||
      /^[A-Za-z]:[\\/]|[\\\0]/.test(plain) ||
      plain.split("/").some((part) => part === "..");
    if (leadsOut) throw badFile("It holds a path that leads out of it.");
    // A directory may be named again, as tools do; it is nothing but its name.
    const key = plain.normalize("NFC").toLowerCase();
    if (seen.has(key) && !path.endsWith("/")) throw badFile("It holds one path twice.");
    seen.add(key);
    return plain;
  };
}
