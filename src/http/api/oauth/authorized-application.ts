import { z } from "zod";

import { type CommandResult, handle } from "../../../commands/core/handle.ts";
import { oauthAuthorization } from "../../../commands/oauth/authorization.ts";
import { OAuthApplicationId } from "../../../events/core/ids.ts";
import { Scope } from "../../../events/token/access-token.ts";
import { Refusal } from "../../../platform/refusal.ts";
import {
  authorizationsOf,
  listAuthorizedApplications,
} from "../../../projections/oauth/authorization.ts";
import type { Deps } from "../../core/deps.ts";
import { listed } from "../../core/paging.ts";
import type { RequestFor } from "../../core/request.ts";
import { type Route, route } from "../../core/route.ts";
import { instant } from "../../core/schema.ts";

const common = { tag: "User settings", access: "user" } as const;
const path = "/user/settings/authorized-application" as const;

const View = z
  .object({
    applicationId: z.uuid(),
    name: z.string(),
    homepageUrl: z.string(),
    scopeSet: z.array(Scope),
    authorizedAt: instant(),
    lastUsedAt: instant().nullable().meta({ description: "To the minute." }),
  })
  .meta({ id: "AuthorizedApplication" });

const list = route({
  ...common,
  method: "get",
  path,
  operationId: "listAuthorizedApplications",
  summary: "List the OAuth applications one has let in",
  scope: "USER_READ",
  list: "authorizedApplicationList",
  reply: View,
  handle: ({ page, request: { userId } }, { db }) =>
    listed(listAuthorizedApplications(db, { userId, ...page }), (row) => ({
      applicationId: row.application_id,
      name: row.name,
      homepageUrl: row.homepage_url,
      scopeSet: [...row.scopes],
      authorizedAt: row.first_at,
      lastUsedAt: row.used_at,
    })),
});

const remove = route({
  ...common,
  method: "delete",
  path: `${path}/{id}`,
  operationId: "revokeAuthorizedApplication",
  notForApplications: true,
  summary: "Shut an OAuth application out again",
  description: "All its tokens for one's account end at once.",
  scope: "USER_WRITE",
  params: z.object({ id: OAuthApplicationId }),
  reply: "empty",
  handle: ({ params, request }, deps) => shutOut(params.id, request, deps),
});

export const authorizedApplicationRoutes: readonly Route[] = [list, remove];

/** Each step may be repeated: what is left over after a crash is there to be revoked again. */
export async function shutOut(
  applicationId: OAuthApplicationId,
  request: RequestFor<"user">,
  { db, store, now }: Deps,
): Promise<void> {
  const { userId: by } = request;
  const ids = await authorizationsOf(db, by, applicationId);
  if (ids.length === 0) {
    const message = "You have not authorized this application.";
    throw new Refusal("not_found", "authorized_application.not_found", message);
  }
  const at = now().toISOString();
  const command = { type: "RevokeOAuthAuthorization", reason: "USER", by, at } as const;
  await request.executeProcess(async (metadata) => {
    let result: CommandResult = { position: undefined };
    for (const id of ids) {
      result = await handle(store, oauthAuthorization, { id, command, metadata });
    }
    return result;
  });
}
