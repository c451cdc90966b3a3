import { z } from "zod";

import { type Names, projectPath } from "../common/address.ts";

export const at = "/project/{ownerAlias}/{projectAlias}/cicd";
export const names = { ownerAlias: z.string(), projectAlias: z.string() };
export const LocalParams = z.object({ ...names, localId: z.string() });

const cicd = (of: Names): string => `${projectPath(of)}/cicd`;

export const pipelinePath = (of: Names, localId: string | number): string =>
  `${cicd(of)}/pipeline/${encodeURIComponent(localId)}`;

export const jobPath = (of: Names, localId: string | number): string =>
  `${cicd(of)}/job/${encodeURIComponent(localId)}`;
