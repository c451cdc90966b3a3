import { branchPrefix } from "../../events/repository/repository.ts";
import type { PushHead } from "../../git/push/request.ts";
import type { ProjectRow } from "../../projections/project/project.ts";

/** A push of a whole repository is no work to be merged. */
const offersMax = 3;

type ProjectRef = Pick<ProjectRow, "owner_alias" | "alias" | "default_branch">;

/** For each branch that a push creates, by ref: where a merge request for it is opened. */
export function offersFor(
  commands: PushHead["commands"],
  { owner_alias, alias, default_branch }: ProjectRef,
  publicUrl: string,
): ReadonlyMap<string, string> {
  const created = commands.filter(
    ({ ref, before, after }) => ref.startsWith(branchPrefix) && before === null && after !== null,
  );
  const others = created.filter(({ ref }) => ref !== branchPrefix + default_branch);
  if (others.length > offersMax || others.length < created.length) return new Map();
  const form = `${publicUrl}/page/project/${owner_alias}/${alias}/merge-request/new`;
  return new Map(
    others.map(({ ref }) => {
      const branch = ref.slice(branchPrefix.length);
      const address = `${form}?sourceBranch=${encodeURIComponent(branch)}`;
      return [ref, `Open a merge request for ${branch}: ${address}`];
    }),
  );
}
