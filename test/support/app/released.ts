type Held = Readonly<{ file: number; objects: readonly object[] }>;

let held: readonly Held[] = [];
let file = 0;

/** Says that the tests of a file have ended; its own hooks follow. */
export function fileEnded(): void {
  file += 1;
}

/**
 * Empties these objects when a later file in the same process calls this. Modules of test files stay loaded, and with
 * them all that their variables reach: 7 MB for each file that starts an app.
 */
export function releaseLater(...objects: readonly object[]): void {
  for (const { objects: ended } of held.filter((each) => each.file < file)) {
    for (const object of ended) {
      for (const key of Object.keys(object)) Reflect.deleteProperty(object, key);
    }
  }
  held = [...held.filter((each) => each.file === file), { file, objects }];
}
