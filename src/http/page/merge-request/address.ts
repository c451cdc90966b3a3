import { type Names, projectPath } from "../common/address.ts";

export const at = "/project/{ownerAlias}/{projectAlias}/merge-request";
/** What the path of a request names. */
export type LocalParams = Names & Readonly<{ localId: string }>;

export const requestPath = (of: Names, localId: string | number): string =>
  `${projectPath(of)}/merge-request/${encodeURIComponent(localId)}`;
