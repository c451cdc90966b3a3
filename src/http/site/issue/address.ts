import { z } from "zod";

import { type Names, projectPath } from "../common/address.ts";

export const at = "/project/{ownerAlias}/{projectAlias}/issue";
export const names = { ownerAlias: z.string(), projectAlias: z.string() };
export const IssueParams = z.object({ ...names, localId: z.string() });

export const issuesPath = (of: Names): string => `${projectPath(of)}/issue`;

export const issuePath = (of: Names, localId: string | number): string =>
  `${issuesPath(of)}/${encodeURIComponent(localId)}`;
