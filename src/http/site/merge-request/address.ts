import { z } from "zod";

import { type Names, projectPath } from "../common/address.ts";

export const at = "/project/{ownerAlias}/{projectAlias}/merge-request";
export const names = { ownerAlias: z.string(), projectAlias: z.string() };
export const LocalParams = z.object({ ...names, localId: z.string() });

export const requestPath = (of: Names, localId: string | number): string =>
  `${projectPath(of)}/merge-request/${encodeURIComponent(localId)}`;
