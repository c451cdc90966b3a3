import { accessSync, appendFileSync, constants } from "node:fs";
import path from "node:path";

/** Debian keeps servers where only root's shells look. */
export const programPath = `${process.env["PATH"]}:/usr/sbin:/usr/local/sbin`;

/** File that collects what was skipped; mocha's main process prints it after the run. */
export const skippedVariable = "TEST_SKIPPED_FILE";

export type Skipped = Readonly<{ programs: readonly string[]; file: string; tests: number }>;

export function isInstalled(program: string): boolean {
  return programPath.split(":").some((directory) => {
    try {
      accessSync(path.join(directory, program), constants.X_OK);
      return directory !== "";
    } catch {
      return false;
    }
  });
}

/**
 * Skips the tests of the enclosing `describe`, or of the whole file when it is called at the file's top
 * level, unless all programs are installed. The reason is printed in the last lines of the run.
 *
 * @returns whether they are
 */
export function needsProgram(...programs: readonly string[]): boolean {
  return skipWithout(programs.filter((program) => !isInstalled(program)));
}

/** The same for whatever is missing. @param missing what the printed reason names */
export function skipWithout(missing: readonly string[]): boolean {
  if (missing.length === 0) return true;
  // A suite without tests is never run; it knows the file and the suite that this was called in.
  const { file = "", parent } = describe(`without ${missing.join(", ")}`, () => undefined);
  before(function () {
    // Run one after another, all files share the root suite: the others go on.
    const suites = parent?.suites.filter((suite) => suite.file === file) ?? [];
    const isShared = suites.length < (parent?.suites.length ?? 0);
    const skipped = isShared || parent === undefined ? suites : [parent];
    note({ programs: missing, file, tests: skipped.reduce((sum, it) => sum + it.total(), 0) });
    if (!isShared) this.skip();
    for (const suite of suites) suite.pending = true;
  });
  return false;
}

function note(skipped: Skipped): void {
  const collected = process.env[skippedVariable];
  if (collected !== undefined) appendFileSync(collected, `${JSON.stringify(skipped)}\n`);
}

/** One line for each program, as the run prints them and `.ci/run` reads them. */
export function skippedLines(collected: string): readonly string[] {
  const all = collected
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Skipped);
  const names = [...new Set(all.flatMap(({ programs }) => programs))].sort();
  return names.map((name) => {
    const concerned = all.filter(({ programs }) => programs.includes(name));
    const tests = concerned.reduce((sum, it) => sum + it.tests, 0);
    const files = [...new Set(concerned.map(({ file }) => path.relative(process.cwd(), file)))];
    return `skipped ${tests} tests: ${name} is not installed (${files.sort().join(", ")})`;
  });
}
