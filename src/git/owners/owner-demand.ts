import { parseCodeOwners } from "./code-owners.ts";
import { compileSection, decidingEntry, type SectionMatcher } from "./owner-match.ts";
import { type Budget, TooManySteps } from "./path-glob.ts";

/** Owners who have to agree, and how many of them. */
export type OwnerDemand = Readonly<{ owners: readonly string[]; approvals: number }>;

export type OwnerQuestion = Readonly<{
  /** Distinguishes texts: the id of the blob. */
  textId: string;
  /** Of a CODEOWNERS file. */
  text: string;
  paths: readonly string[];
  stepsMax: number;
}>;

export type OwnerAnswer = readonly OwnerDemand[] | "too many steps";

/** The text of the last question: pages show several merge requests into one branch. */
let compiled: Readonly<{ textId: string; sections: readonly SectionMatcher[] }> | undefined;

/** What a CODEOWNERS file demands for some files, each demand once. Optional sections demand nothing. */
export function findOwners({ textId, text, paths, stepsMax }: OwnerQuestion): OwnerAnswer {
  if (compiled?.textId !== textId) {
    const sections = parseCodeOwners(text).filter(({ optional }) => !optional);
    compiled = { textId, sections: sections.map(compileSection) };
  }
  try {
    return demandsOf(compiled.sections, paths, { steps: stepsMax });
  } catch (error) {
    if (error instanceof TooManySteps) return "too many steps";
    throw error;
  }
}

function demandsOf(
  sections: readonly SectionMatcher[],
  paths: readonly string[],
  budget: Budget,
): readonly OwnerDemand[] {
  // Entries share the list of their section's default owners, which may be long.
  const names = new Map<readonly string[], string>();
  const demands = new Map<string, Map<number, OwnerDemand>>();
  for (const path of paths) {
    const parts = path.split("/");
    for (const matcher of sections) {
      const owners = decidingEntry(matcher, parts, budget)?.owners ?? [];
      if (owners.length === 0) continue;
      const { approvals } = matcher.section;
      const named = names.get(owners) ?? owners.join(" ");
      names.set(owners, named);
      const byCount = demands.get(named) ?? new Map<number, OwnerDemand>();
      demands.set(named, byCount.set(approvals, { owners, approvals }));
    }
  }
  return [...demands.values()].flatMap((byCount) => [...byCount.values()]);
}
