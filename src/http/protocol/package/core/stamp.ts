import { UserId } from "../../../../events/core/ids.ts";
import { type Stamp, stampOf } from "../../../core/command-deps.ts";
import type { Deps } from "../../../core/deps.ts";
import type { RequestContext } from "../../../core/request.ts";

/** For requests at repositories: their access has authenticated a user, which the type of the request does not show. */
export function authenticatedStamp(
  { userId }: Pick<RequestContext, "userId">,
  deps: Pick<Deps, "now">,
): Stamp {
  return stampOf({ userId: UserId.parse(userId) }, deps);
}
