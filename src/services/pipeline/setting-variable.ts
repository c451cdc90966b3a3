import { serviceId } from "../../events/pipeline/variable.ts";
import { matchesTemplate } from "../../platform/name-template.ts";
import { type VariableRow, variablesOf } from "../../projections/pipeline/variable.ts";
import type { ProjectRow } from "../../projections/project/project.ts";
import type { WorkerDeps } from "../core/deps.ts";

export type SettingVariable = Readonly<{ value: string; masked: boolean; file: boolean }>;

export type VariableScope = Readonly<{
  project: Owned;
  /** Of the branch or tag: only then protected variables are given. */
  isProtected: boolean;
  /** Name of the job's environment; null for none. */
  environment: string | null;
}>;

type Owned = Pick<ProjectRow, "id" | "owner_id" | "owner_company_id">;

/** What the variables of a project are set at, those whose value wins first. */
export function variableParents({ id, owner_id, owner_company_id }: Owned): readonly string[] {
  return [id, owner_id, owner_company_id, serviceId].filter((parent) => parent !== null);
}

/**
 * The variables that a project, its team, its company and the service have set, in this order of
 * precedence; of several scopes that fit the environment, the longest wins.
 *
 * @param known all of them, where they were read before
 */
export async function settingVariables(
  { db, vault }: Pick<WorkerDeps, "db" | "vault">,
  { project, isProtected, environment }: VariableScope,
  known?: readonly VariableRow[],
): Promise<ReadonlyMap<string, SettingVariable>> {
  const parentIds = variableParents(project);
  const rows = known ?? (await variablesOf(db, parentIds));
  const chosen = new Map<string, VariableRow>();
  for (const row of rows) {
    if ((row.protected && !isProtected) || !fits(row.environment_scope, environment)) continue;
    const other = chosen.get(row.key);
    if (other === undefined || wins(row, other, parentIds)) chosen.set(row.key, row);
  }
  const opened = await Promise.all(
    [...chosen].map(async ([key, { value, masked, kind }]) => {
      const text = await vault.open(value);
      return [
        key,
        text === null ? undefined : { value: text, masked, file: kind === "FILE" },
      ] as const;
    }),
  );
  return new Map(opened.flatMap(([key, variable]) => (variable ? [[key, variable]] : [])));
}

function fits(scope: string | null, environment: string | null): boolean {
  if (scope === null || scope === "*") return true;
  return environment !== null && matchesTemplate(scope.replaceAll(/\*+/g, "**"), environment);
}

function wins(one: VariableRow, other: VariableRow, parentIds: readonly string[]): boolean {
  const [a, b] = [one, other].map(({ parent_id }) => parentIds.indexOf(parent_id));
  if (a !== b) return (a ?? 0) < (b ?? 0);
  return (one.environment_scope ?? "").length > (other.environment_scope ?? "").length;
}
