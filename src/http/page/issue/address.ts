import { type Names, projectPath } from "../common/address.ts";

export const at = "/project/{ownerAlias}/{projectAlias}/issue";

export const issuesPath = (of: Names): string => `${projectPath(of)}/issue`;

export const issuePath = (of: Names, localId: string | number): string =>
  `${issuesPath(of)}/${encodeURIComponent(localId)}`;
