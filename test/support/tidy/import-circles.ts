import path from "node:path";

/** Imports of types count too: who reads one of the files has to read them all. Imports at first use do not. */
const imports = /^(?:import|export) [^;"]*from "(\.[^"]+)"|^import "(\.[^"]+)"/gm;

/**
 * Finds files that import one another.
 *
 * @param files text of each file by its path
 * @returns for each circle the files on the way from the first one back to it
 */
export function importCircles(files: ReadonlyMap<string, string>): readonly string[] {
  const circles: string[] = [];
  const visited = new Set<string>();
  const way: string[] = [];

  function visit(file: string): void {
    const start = way.indexOf(file);
    if (start >= 0) circles.push([...way.slice(start), file].join(" → "));
    if (visited.has(file)) return;
    visited.add(file);
    way.push(file);
    for (const target of importedBy(file, files.get(file) ?? "")) visit(target);
    way.pop();
  }
  for (const file of files.keys()) visit(file);
  return circles;
}

function importedBy(file: string, text: string): readonly string[] {
  return Array.from(text.matchAll(imports), ([, from, alone]) =>
    path.normalize(path.join(path.dirname(file), from ?? alone ?? "")),
  );
}
