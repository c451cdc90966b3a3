/** What must be true of a request before it is merged. */
export const requirementNames = [
  "LAST_PIPELINE_SUCCESS",
  "WORK_NOT_IN_PROGRESS",
  "RIGHTS_TO_MERGE",
  "NO_CONFLICTS",
  "BRANCH_NOT_PROTECTED_FOR_USER",
  "HAS_ALL_APPROVERS",
  "HAS_ALL_CODEOWNERS",
  "MERGE_RESULTS_PIPELINE_SUCCESS",
] as const;
export type RequirementName = (typeof requirementNames)[number];
export type Requirements = Readonly<Record<RequirementName, boolean>>;

const allAre = (isMet: boolean) =>
  Object.fromEntries(requirementNames.map((name) => [name, isMet])) as Requirements;

/** None of them is met, or all. */
export const noRequirements = allAre(false);
export const allRequirements = allAre(true);

export const unmetOf = (requirements: Requirements): readonly RequirementName[] =>
  requirementNames.filter((name) => !requirements[name]);

/** Why a requirement does not hold, where its name does not say it. */
export type Reason = Readonly<{
  field: RequirementName;
  code: string;
  message: string;
  /** Name of the approval rule. */
  rule?: string;
}>;
