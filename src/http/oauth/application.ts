import { randomBytes } from "node:crypto";
import { z } from "zod";

import { oauthApplication } from "../../commands/oauth/application.ts";
import { OAuthApplicationId, type UserId } from "../../events/core/ids.ts";
import { userSubject } from "../../events/user/user.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { Refusal } from "../../platform/refusal.ts";
import {
  findOAuthApplication,
  listOAuthApplications,
  type OAuthApplicationRow,
} from "../../projections/oauth/application.ts";
import { stampOf } from "../core/command-deps.ts";
import type { Deps } from "../core/deps.ts";
import { type Route, route } from "../core/route.ts";
import { bool, oneLine } from "../core/schema.ts";
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

const common = { tag: "User settings", access: "user" } as const;
const write = { ...common, scope: "USER_WRITE" } as const;
const params = z.object({ id: OAuthApplicationId });
const at = "/user/settings/oauth" as const;

const list = route({
  ...common,
  method: "get",
  path: `${at}/`,
  alsoAt: [at],
  operationId: "listOAuthApplications",
  notForApplications: true,
  summary: "List one's OAuth applications",
  scope: "USER_READ",
  list: "oauthModelList",
  reply: ApplicationView,
  errors: [403, 404, 422],
  async handle({ page, request }, deps) {
    const { size: limit, offset } = page;
    const of = { ownerId: request.userId, limit, offset };
    const { rows, total } = await listOAuthApplications(deps.db, of);
    const items = await Promise.all(rows.map((row) => present(row, deps)));
    return { items, totalElements: total };
  },
});

const show = route({
  ...common,
  method: "get",
  path: `${at}/{id}`,
  operationId: "getOAuthApplication",
  notForApplications: true,
  summary: "Get one of one's OAuth applications",
  scope: "USER_READ",
  params,
  reply: ApplicationView,
  errors: [403, 404, 422],
  handle: ({ params, request }, deps) => shown(request.userId, params.id, deps),
});

const create = route({
  ...write,
  method: "post",
  path: at,
  operationId: "createOAuthApplication",
  notForApplications: true,
  summary: "Create an OAuth application",
  description: "It must be registered as well before it can request the authorisation of users.",
  body: NewApplication,
  reply: ApplicationView,
  errors: [403, 422],
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
    return shown(ownerId, id, deps);
  },
});

const change = route({
  ...write,
  method: "put",
  path: `${at}/{id}`,
  operationId: "changeOAuthApplication",
  notForApplications: true,
  summary: "Change an OAuth application",
  params,
  body: NewApplication,
  reply: ApplicationView,
  errors: [403, 404, 422],
  async handle({ params, body, request }, deps) {
    const details = detailsOf(body);
    await request.execute(oauthApplication, params.id, {
      type: "ChangeOAuthApplication",
      details,
      ...stampOf(request, deps),
    });
    return shown(request.userId, params.id, deps);
  },
});

const register = route({
  ...write,
  method: "post",
  path: `${at}/{id}/register`,
  operationId: "registerOAuthApplication",
  notForApplications: true,
  summary: "Register an OAuth application",
  params,
  reply: ApplicationView,
  errors: [403, 404],
  async handle({ params, request }, deps) {
    await request.execute(oauthApplication, params.id, {
      type: "RegisterOAuthApplication",
      ...stampOf(request, deps),
    });
    return shown(request.userId, params.id, deps);
  },
});

const remove = route({
  ...write,
  method: "delete",
  path: `${at}/{id}`,
  operationId: "deleteOAuthApplication",
  notForApplications: true,
  summary: "Delete an OAuth application",
  params,
  reply: "empty",
  errors: [403, 404],
  async handle({ params, request }, deps) {
    await request.execute(oauthApplication, params.id, {
      type: "DeleteOAuthApplication",
      ...stampOf(request, deps),
    });
  },
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

async function shown(ownerId: UserId, id: OAuthApplicationId, deps: Deps) {
  const row = await findOAuthApplication(deps.db, ownerId, id);
  if (row !== undefined) return present(row, deps);
  throw new Refusal("not_found", "oauth_application.not_found", "OAuth application not found.");
}

async function present(
  row: OAuthApplicationRow,
  { vault }: Deps,
): Promise<z.input<typeof ApplicationView>> {
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    clientId: row.client_id,
    clientSecret: (await vault.open(row.client_secret)) ?? "",
    homepageUrl: row.homepage_url,
    authCallbackUrl: row.callback_url,
    standalone: row.is_standalone,
  };
}
