import type { JobSpec } from "../events/pipeline/job-spec.ts";
import type { Instance } from "./job.ts";

/** Edges that the graph of one pipeline may have. */
const needsMax = 50_000;

export type GraphProblem = Readonly<{
  job: string;
  key: "needs" | "dependencies" | "trigger";
  message: string;
}>;

export type Resolved = Readonly<{ jobs: readonly JobSpec[]; problems: readonly GraphProblem[] }>;

/**
 * Puts names of whole jobs where the file names jobs that `parallel` makes several of, and checks
 * that what is needed is there, is not of a later stage, and that nothing waits for itself.
 *
 * @param known names of all jobs of the file, also of those that rules left out
 */
export function resolveNeeds(instances: readonly Instance[], known: ReadonlySet<string>): Resolved {
  const named = finder(instances);
  const problems: GraphProblem[] = [];
  let edges = 0;

  function needsOf(instance: Instance): JobSpec["needs"] {
    if (instance.needs === undefined) return null;
    const resolved = new Map<string, boolean>();
    for (const need of instance.needs) {
      const problem = (message: string) =>
        problems.push({ job: instance.base, key: "needs", message });
      const ofCell = (text: string) => inCell(text, instance.cell ?? {}, problem);
      const wanted = ofCell(need.job);
      const entries = need.matrix?.map((entry) =>
        Object.entries(entry).map(([key, values]) => [key, values.map(ofCell)] as const),
      );
      const found = named(wanted).filter(({ cell }) => fitsMatrix(entries, cell));
      if (found.length === 0 && !need.optional) {
        problem(
          known.has(wanted)
            ? `The job ${wanted} is not part of this pipeline: its rules left it out.`
            : `There is no job ${wanted}.`,
        );
      }
      for (const { spec } of found) {
        if (spec.stageIndex > instance.spec.stageIndex) {
          problem(`The job ${spec.name} is of a later stage.`);
        }
        resolved.set(spec.name, need.artifacts);
      }
    }
    edges += resolved.size;
    return [...resolved].map(([job, artifacts]) => ({ job, artifacts }));
  }

  function dependenciesOf(instance: Instance): JobSpec["dependencies"] {
    if (instance.dependencies === undefined) return null;
    return instance.dependencies.flatMap((name) => {
      const message = `There is no job ${name}.`;
      const found = named(name);
      if (found.length === 0 && !known.has(name)) {
        problems.push({ job: instance.base, key: "dependencies", message });
      }
      return found.map(({ spec }) => spec.name);
    });
  }

  const jobs = instances.map((instance) => ({
    ...instance.spec,
    needs: needsOf(instance),
    dependencies: dependenciesOf(instance),
  }));
  instances.forEach((instance, at) => {
    problems.push(...triggerProblems(instance, jobs[at]?.needs ?? null, { named, known }));
  });
  if (edges > needsMax) {
    const message = `The jobs need one another in more than ${needsMax} ways.`;
    return { jobs: [], problems: [{ job: jobs[0]?.name ?? "", key: "needs", message }] };
  }
  const circle = problems.length === 0 ? circleIn(jobs) : undefined;
  if (circle !== undefined) {
    const job = named(circle[0] ?? "")[0]?.base ?? "";
    const message = `The jobs wait for one another: ${circle.join(", ")}.`;
    problems.push({ job, key: "needs", message });
  }
  return { jobs, problems };
}

type Named = (name: string) => readonly Instance[];

/** Finds jobs by the name in the file, which `parallel` makes several of, or by that of one of them. */
function finder(instances: readonly Instance[]): Named {
  const byBase = new Map<string, Instance[]>();
  for (const instance of instances) {
    const same = byBase.get(instance.base);
    if (same === undefined) byBase.set(instance.base, [instance]);
    else same.push(instance);
  }
  const byName = new Map(instances.map((instance) => [instance.spec.name, instance]));
  return (name) => {
    const one = byName.get(name);
    return byBase.get(name) ?? (one === undefined ? [] : [one]);
  };
}

/** A job whose artifacts hold the file of a child pipeline must have ended when the other one starts it. */
function triggerProblems(
  { base, spec }: Instance,
  needs: JobSpec["needs"],
  { named, known }: Readonly<{ named: Named; known: ReadonlySet<string> }>,
): readonly GraphProblem[] {
  const isBefore = (maker: Pick<JobSpec, "name" | "stageIndex">): boolean =>
    needs === null
      ? maker.stageIndex < spec.stageIndex
      : needs.some(({ job }) => job === maker.name);
  return (spec.trigger?.include ?? []).flatMap((each) => {
    // Where the name has variables it is known when the job runs.
    if (!("artifact" in each) || each.job.includes("$")) return [];
    const problem = (message: string) => [{ job: base, key: "trigger", message } as const];
    const makers = named(each.job);
    if (makers.length === 0 && !known.has(each.job)) return problem(`There is no job ${each.job}.`);
    if (makers.every((maker) => isBefore(maker.spec))) return [];
    return problem(`The job ${each.job} must be of an earlier stage, or among its needs.`);
  });
}

type Cell = Instance["cell"];
type Entries = readonly (readonly (readonly [key: string, values: readonly string[]])[])[];

/** Without making the combinations, of which there may be any number. */
function fitsMatrix(matrix: Entries | undefined, cell: Cell): boolean {
  if (matrix === undefined) return true;
  const own = new Map(Object.entries(cell ?? {}));
  const fits = (key: string, values: readonly string[]) => values.some((it) => it === own.get(key));
  return matrix.some((entry) => entry.every(([key, values]) => fits(key, values)));
}

const matrixExpression = /\$\[\[\s*matrix\.([A-Za-z_][A-Za-z0-9_]*)\s*\]\]/g;

/** Puts the values of the own matrix of a job in the place of `$[[ matrix.NAME ]]`. */
function inCell(
  text: string,
  cell: NonNullable<Instance["cell"]>,
  problem: (message: string) => void,
): string {
  return text.replaceAll(matrixExpression, (whole, name: string) => {
    if (Object.hasOwn(cell, name)) return cell[name] ?? whole;
    problem(`The matrix of the job has no ${name}.`);
    return whole;
  });
}

/** Names of jobs that wait for one another; a walk without recursion, for chains of any length. */
function circleIn(jobs: readonly JobSpec[]): readonly string[] | undefined {
  const waiting = new Map(jobs.map(({ name, needs }) => [name, needs?.length ?? 0]));
  const dependents = new Map<string, string[]>();
  for (const { name, needs } of jobs) {
    for (const { job } of needs ?? []) {
      const known = dependents.get(job);
      if (known === undefined) dependents.set(job, [name]);
      else known.push(name);
    }
  }
  const ready = [...waiting].filter(([, count]) => count === 0).map(([name]) => name);
  for (let next = ready.pop(); next !== undefined; next = ready.pop()) {
    waiting.delete(next);
    for (const dependent of dependents.get(next) ?? []) {
      const left = (waiting.get(dependent) ?? 0) - 1;
      waiting.set(dependent, left);
      if (left === 0) ready.push(dependent);
    }
  }
  return waiting.size === 0 ? undefined : [...waiting.keys()].slice(0, 10);
}
