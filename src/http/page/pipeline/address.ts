import { type Names, projectPath } from "../common/address.ts";

export const at = "/project/{ownerAlias}/{projectAlias}/cicd";

const cicd = (of: Names): string => `${projectPath(of)}/cicd`;

export const pipelinePath = (of: Names, localId: string | number): string =>
  `${cicd(of)}/pipeline/${encodeURIComponent(localId)}`;

export const jobPath = (of: Names, localId: string | number): string =>
  `${cicd(of)}/job/${encodeURIComponent(localId)}`;
