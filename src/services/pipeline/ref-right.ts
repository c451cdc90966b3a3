import type { UserId } from "../../events/core/ids.ts";
import type { Role } from "../../events/core/role.ts";
import type { PipelineOrigin } from "../../events/pipeline/pipeline.ts";
import { branchPrefix, tagPrefix } from "../../events/repository/repository.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { ProjectRow } from "../../projections/project/project.ts";
import {
  type RefProtection,
  reaches,
  ruleProtections,
} from "../../projections/protection/applicable.ts";
import { actingRole } from "../../projections/team/acting-role.ts";
import type { WorkerDeps } from "../core/deps.ts";

type Ref = Pick<PipelineOrigin, "ref" | "isTag" | "mergeRequest">;

/**
 * Whether a user may run jobs on a branch or tag. On one that a rule protects they have protected variables, and who
 * starts them gives them variables: it is for those who may push to it, merge into it or create it, and for
 * administrators, who set the rules.
 */
export async function mayRunOn(
  { db }: Pick<WorkerDeps, "db">,
  project: ProjectRow,
  userId: UserId | null,
  ref: Ref,
): Promise<boolean> {
  const role = await actingRole(db, project, userId);
  if (role === "ADMIN") return true;
  if (role !== "DEVELOPER") return false;
  const { of } = await ruleProtections(db, project);
  const rules = protectedRefs(project, ref).map(of);
  return rules.includes(null) || rules.every((rule) => rule === null || allows(rule, role));
}

/** Where each of these is protected, jobs have protected variables; see isProtectedRef. */
function protectedRefs({ id }: ProjectRow, { ref, isTag, mergeRequest }: Ref): readonly string[] {
  if (mergeRequest === null) return [`${isTag ? tagPrefix : branchPrefix}${ref}`];
  const { projectId, sourceProjectId, sourceBranch, targetBranch } = mergeRequest;
  if (projectId !== id || sourceProjectId !== id) return [];
  return [sourceBranch, targetBranch].map((name) => branchPrefix + name);
}

function allows(rule: RefProtection, role: Role): boolean {
  switch (rule.kind) {
    case "TAG":
      return reaches(role, rule.allowToCreate);
    case "BRANCH":
      return reaches(role, rule.allowedToPush) || reaches(role, rule.allowedToMerge);
    case "MIRROR":
      return true;
  }
}

/** @throws Refusal 403 `pipeline.ref_protected` */
export async function mustMayRunOn(...args: Parameters<typeof mayRunOn>): Promise<void> {
  if (await mayRunOn(...args)) return;
  const message = "A protection rule of the branch or tag does not let you run jobs on it.";
  throw new Refusal("forbidden", "pipeline.ref_protected", message);
}
