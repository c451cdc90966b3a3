import { expandText, expandVariables } from "../../pipeline-file/expand.ts";
import type { JobRun } from "./job-run.ts";
import { plainVariables, variablesOf } from "./job-variable.ts";

/**
 * The variables of a job as the pipeline that it starts is given them: with the values that they have here. References
 * to what only settings hold are left to that pipeline, so secrets do not reach another project. What the values
 * contain beside is not expanded again: `$$` means a dollar sign.
 */
export async function handedVariables(run: JobRun): Promise<Readonly<Record<string, string>>> {
  const { all, given } = await plainVariables(run);
  const known = new Map([...all].map(([key, { value, raw }]) => [key, { value, raw }]));
  for (const [key, value] of given) known.set(key, { value, raw: false });
  const done = new Map<string, string>();

  function reference(name: string): string {
    const before = done.get(name);
    if (before !== undefined) return before;
    const left = `\${${name}}`;
    const variable = known.get(name);
    if (variable === undefined) return left;
    // What refers to itself stays as it is.
    done.set(name, left);
    const value = handed(variable);
    done.set(name, value);
    return value;
  }

  const dollars = (text: string, replaced: string): string =>
    text.replaceAll(replaced, () => replaced.replaceAll("$", "$$$$"));
  const handed = ({ value, raw }: Readonly<{ value: string; raw: boolean }>): string =>
    raw ? dollars(value, "$") : expandText(dollars(value, "$$"), reference);

  return Object.fromEntries(run.spec.variables.map((each) => [each.key, handed(each)]));
}

/** Expands texts with all variables of a job but secret ones. @param token of the job, where it has one */
export async function expansionOf(run: JobRun, token = ""): Promise<(text: string) => string> {
  const { variables } = await variablesOf(run, token);
  const open = variables.filter(({ masked, file }) => !masked && !file);
  const raw = new Set(open.filter((each) => each.raw).map(({ key }) => key));
  const values = expandVariables(new Map(open.map(({ key, value }) => [key, value])), raw);
  return (text) => expandText(text, (key) => values.get(key));
}
