/**
 * Regular expression of the address of a repository, with its owner and alias: `/project/{owner}/{alias}`, with or
 * without `.git`, and `/{owner}/{alias}.git`. gitlab-runner makes the latter of SSH addresses, which it takes to begin
 * at the root of the service (`GIT_SUBMODULE_FORCE_HTTPS`, `clone_url`). No alias ends in `.git`.
 */
const repository = String.raw`(?:\/project|(?=\/[^/]+\/[^/]+\.git\/))\/([^/]+)\/([^/]+?)(?:\.git)?`;

/** @param rest what follows the address, as a regular expression */
export const repositoryPath = (rest: string): RegExp =>
  new RegExp(`^(?:\\/rest-api)?${repository}\\/${rest}$`);
