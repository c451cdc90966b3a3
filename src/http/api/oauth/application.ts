import { randomBytes } from "node:crypto";
import { z } from "zod";

import {
  type OAuthApplicationCommand,
  oauthApplication,
} from "../../../commands/oauth/application.ts";
import { OAuthApplicationId, type UserId } from "../../../events/core/ids.ts";
import { userSubject } from "../../../events/user/user.ts";
import { deterministicId } from "../../../platform/deterministic-id.ts";
import { Refusal } from "../../../platform/refusal.ts";
import {
  findOAuthApplication,
  listOAuthApplications,
  type OAuthApplicationRow,
} from "../../../projections/oauth/application.ts";
import { type Stamp, stamped, stampOf, type Unstamped } from "../../core/command-deps.ts";
import type { Deps } from "../../core/deps.ts";
import { listed } from "../../core/paging.ts";
import type { RequestFor } from "../../core/request.ts";
import { type Route, route } from "../../core/route.ts";
import { bool, oneLine } from "../../core/schema.ts";
import { toView } from "../../core/view.ts";
import { isRegistrable } from "./redirect.ts";

const ApplicationView = z
  .object({
    id: z.uuid(),
    name: z.string(),
    description: z.string(),
    clientId: z.string(),
    clientSecret: z.string(),
    homepageUrl: z.string(),
    authCallbackUrl: z.string(),
    standalone: z.boolean().meta({ description: "It has no server-side component." }),
  })
  .meta({ id: "OAuthApplication" });

/** No fragment (RFC 6749 §3.1.2) and nobody's name in it. */
const Link = z
  .url({ protocol: /^https?$/ })
  .max(2_000)
  .refine((text) => {
    // What is no address at all was refused already.
    if (!URL.canParse(text)) return true;
    const url = new URL(text);
    return !text.includes("#") && url.username === "" && url.password === "";
  }, "An address without a fragment and without credentials");

const NewApplication = z
  .object({
    name: oneLine(255),
    description: z.string().max(10_000).nullish(),
    homepageUrl: z.union([z.literal(""), Link]).nullish(),
    authCallbackUrl: z
      .string()
      .min(1)
      .max(2_000)
      .refine(
        isRegistrable,
        "An https address, one on loopback, or one of a scheme with a dot, without a fragment and credentials",
      )
      .meta({ example: "https://app.example.org/callback" }),
    standalone: bool().default(false),
  })
  .meta({ id: "NewOAuthApplication" });

const common = { tag: "User settings", access: "user", notForApplications: true } as const;
const writing = { ...common, scope: "USER_WRITE" } as const;
const params = z.object({ id: OAuthApplicationId });
const at = "/user/settings/oauth" as const;

const list = route({
  ...common,
  method: "get",
  path: `${at}/`,
  alsoAt: [at],
  operationId: "listOAuthApplications",
  summary: "List one's OAuth applications",
  scope: "USER_READ",
  list: "oauthModelList",
  reply: ApplicationView,
  errors: [404],
  handle: ({ page, request: { userId: ownerId } }, deps) =>
    listed(listOAuthApplications(deps.db, { ownerId, ...page }), (row) => viewOf(row, deps)),
});

const show = route({
  ...common,
  method: "get",
  path: `${at}/{id}`,
  operationId: "getOAuthApplication",
  summary: "Get one of one's OAuth applications",
  scope: "USER_READ",
  params,
  reply: ApplicationView,
  handle: ({ params, request }, deps) => findView(request.userId, params.id, deps),
});

const create = route({
  ...writing,
  method: "post",
  path: at,
  operationId: "createOAuthApplication",
  summary: "Create an OAuth application",
  description: "It must be registered as well before it can request the authorisation of users.",
  body: NewApplication,
  reply: ApplicationView,
  async handle({ body, request }, deps) {
    const ownerId = request.userId;
    const id = OAuthApplicationId.parse(deterministicId(request.commandId, "oauth application"));
    const secret = randomBytes(32).toString("base64url");
    const command = {
      type: "CreateOAuthApplication",
      applicationId: id,
      ownerId,
      details: detailsOf(body),
      clientId: deterministicId(request.commandId, "oauth client").replaceAll("-", ""),
      clientSecret: await deps.vault.seal(userSubject(ownerId), secret),
      at: deps.now().toISOString(),
    } as const;
    await request.execute(oauthApplication, id, command);
    return findView(ownerId, id, deps);
  },
});

const change = route({
  ...writing,
  method: "put",
  path: `${at}/{id}`,
  operationId: "changeOAuthApplication",
  summary: "Change an OAuth application",
  params,
  body: NewApplication,
  reply: ApplicationView,
  async handle({ params, body, request }, deps) {
    const details = detailsOf(body);
    await write({ type: "ChangeOAuthApplication", details }, params.id, request, deps);
    return findView(request.userId, params.id, deps);
  },
});

const register = route({
  ...writing,
  method: "post",
  path: `${at}/{id}/register`,
  operationId: "registerOAuthApplication",
  summary: "Register an OAuth application",
  params,
  reply: ApplicationView,
  async handle({ params, request }, deps) {
    await write({ type: "RegisterOAuthApplication" }, params.id, request, deps);
    return findView(request.userId, params.id, deps);
  },
});

const remove = route({
  ...writing,
  method: "delete",
  path: `${at}/{id}`,
  operationId: "deleteOAuthApplication",
  summary: "Delete an OAuth application",
  params,
  reply: "empty",
  handle: ({ params, request }, deps) =>
    write({ type: "DeleteOAuthApplication" }, params.id, request, deps),
});

export const oauthApplicationRoutes: readonly Route[] = [
  list,
  show,
  create,
  change,
  register,
  remove,
];

function detailsOf(body: z.output<typeof NewApplication>) {
  const { name, description, homepageUrl, authCallbackUrl, standalone } = body;
  const texts = { description: description ?? "", homepageUrl: homepageUrl ?? "" };
  return { name, ...texts, authCallbackUrl, standalone };
}

type ByUser = Extract<OAuthApplicationCommand, Stamp>;

async function write(
  order: Unstamped<ByUser>,
  id: OAuthApplicationId,
  request: RequestFor<"user">,
  deps: Deps,
): Promise<void> {
  await request.execute(oauthApplication, id, stamped<ByUser>(order, stampOf(request, deps)));
}

async function findView(ownerId: UserId, id: OAuthApplicationId, deps: Deps) {
  const row = await findOAuthApplication(deps.db, ownerId, id);
  if (row !== undefined) return viewOf(row, deps);
  throw new Refusal("not_found", "oauth_application.not_found", "OAuth application not found.");
}

async function viewOf(
  row: OAuthApplicationRow,
  { vault }: Deps,
): Promise<z.input<typeof ApplicationView>> {
  return toView(ApplicationView, row, {
    clientSecret: (await vault.open(row.client_secret)) ?? "",
    authCallbackUrl: row.callback_url,
    standalone: row.is_standalone,
  });
}
