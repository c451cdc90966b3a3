/** Owner and alias of a repository, and what follows them in its address. */
type RepositoryPath = readonly [ownerAlias: string, projectAlias: string, rest: string];

/**
 * Reads the address of a repository: `/project/{owner}/{alias}`, with or without `.git`, and `/{owner}/{alias}.git`.
 * gitlab-runner makes the latter of SSH addresses, which it takes to begin at the root of the service
 * (`GIT_SUBMODULE_FORCE_HTTPS`, `clone_url`). No alias ends in `.git`.
 *
 * @param rest what follows the address, as a regular expression with one group
 * @returns undefined for any other path
 */
export function repositoryPath(rest: string): (path: string) => RepositoryPath | undefined {
  const form = new RegExp(
    `^(?:\\/rest-api)?(\\/project)?\\/([^/]+)\\/([^/]+?)(\\.git)?\\/${rest}$`,
  );
  return (path) => {
    const [, project, owner = "", alias = "", ending, after = ""] = form.exec(path) ?? [];
    return (project ?? ending) === undefined ? undefined : [owner, alias, after];
  };
}
