import { accessSync, appendFileSync, constants } from "node:fs";
import path from "node:path";
import { sourceOf } from "../compiled.ts";

/** Debian keeps servers where only root's shells look. */
export const programPath = `${process.env["PATH"]}:/usr/sbin:/usr/local/sbin`;

/** File that collects what was skipped; mocha's main process prints it after the run. */
export const skippedVariable = "TEST_SKIPPED_FILE";

/** @param reasons sentences without a full stop that say what is missing or fails */
export type Skipped = Readonly<{ reasons: readonly string[]; file: string; tests: number }>;

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
  const missing = programs.filter((program) => !isInstalled(program));
  return skipFor(missing.map(notInstalled));
}

/** As the reasons say it, which `.ci/run` reads. */
export const notInstalled = (program: string): string => `${program} is not installed`;

/** The same for any other reasons. @param reasons sentences without a full stop; none of them: nothing is skipped */
export function skipFor(reasons: readonly string[]): boolean {
  if (reasons.length === 0) return true;
  // A suite without tests is never run; it knows the file and the suite that this was called in.
  const { file = "", parent } = describe(`skipped: ${reasons.join(", ")}`, () => undefined);
  before(function () {
    note({ reasons, file: sourceOf(file), tests: parent?.total() ?? 0 });
    this.skip();
  });
  return false;
}

function note(skipped: Skipped): void {
  const collected = process.env[skippedVariable];
  if (collected !== undefined) appendFileSync(collected, `${JSON.stringify(skipped)}\n`);
}

/** One line for each reason, as the run prints them and `.ci/run` reads them. */
export function skippedLines(collected: string): readonly string[] {
  const all = collected
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Skipped);
  const found = [...new Set(all.flatMap(({ reasons }) => reasons))].sort();
  return found.map((reason) => {
    const concerned = all.filter(({ reasons }) => reasons.includes(reason));
    const tests = concerned.reduce((sum, it) => sum + it.tests, 0);
    const files = [...new Set(concerned.map(({ file }) => path.relative(process.cwd(), file)))];
    return `skipped ${tests} tests: ${reason} (${files.sort().join(", ")})`;
  });
}
