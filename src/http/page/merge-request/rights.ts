import { sourceToPush } from "../../../services/merge-request/renew-source.ts";
import { type Approver, approverOf } from "../../api/merge-request/approve.ts";
import {
  isChangeable,
  mayDeleteRefs,
  mustFindMergeRequest,
} from "../../api/merge-request/place.ts";
import type { Deps } from "../../core/deps.ts";
import type { Visit } from "../core/route.ts";
import type { LocalParams } from "./address.ts";

/** The forms of a merge request that a person gets: by the rules of the operations that the forms call. */
export type Rights = Approver &
  Readonly<{
    /** Edit, close and reopen it, and settle its discussions. */
    mayChange: boolean;
    mayDeleteRefs: boolean;
    /** Bring the source up to date. */
    mayRenew: boolean;
  }>;

const none = {
  mayChange: false,
  mayDeleteRefs: false,
  mayRenew: false,
  mayApprove: false,
  hasApproved: false,
  needsPassword: false,
};

export async function requestRights(
  { session, operations }: Visit,
  params: LocalParams,
  deps: Deps,
): Promise<Rights> {
  if (session === undefined) return none;
  const request = await operations.project("getMergeRequest", params);
  const row = await mustFindMergeRequest(deps, request, Number(params.localId));
  const rights = {
    mayChange: isChangeable(row, request),
    mayDeleteRefs: mayDeleteRefs(row, request),
    mayRenew: (await sourceToPush(deps, row, request)) !== undefined,
  };
  return { ...rights, ...(await approverOf(row, request, deps)) };
}
