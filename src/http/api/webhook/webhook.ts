import { z } from "zod";
import { webhook } from "../../../commands/webhook/webhook.ts";
import { WebhookId } from "../../../events/core/ids.ts";
import type { Sealed } from "../../../events/core/sealed.ts";
import { projectSubject } from "../../../events/project/project.ts";
import { deterministicId } from "../../../platform/deterministic-id.ts";
import { Refusal } from "../../../platform/refusal.ts";
import {
  findWebhook,
  listWebhooks,
  type WebhookRow,
  webhookProjection,
} from "../../../projections/webhook/webhook.ts";
import { stampOf } from "../../core/command-deps.ts";
import type { Deps } from "../../core/deps.ts";
import { oneInProject } from "../../core/one-below.ts";
import { listed } from "../../core/paging.ts";
import { type Route, route } from "../../core/route.ts";
import { checkedUrl } from "../../core/schema.ts";
import { SomeFlags, topicsOf, WebhookView, webhookView } from "./view.ts";

const tag = "Webhooks";
const path = "/project/{ownerAlias}/{projectAlias}/setting/webhook";
/** The secret is shown: all of it is for those who may change it. */
const guarded = { tag, scope: "PROJECT_EDIT", access: "project:ADMIN" } as const;

/** It travels in a header: visible ASCII, and spaces inside. */
const Secret = z
  .string()
  .trim()
  .max(255)
  .regex(/^[\x20-\x7e]*$/, "Use printable ASCII characters.");

const NewWebhook = z
  .object({
    url: z.string().min(1).max(2048),
    secret: Secret.nullish(),
    events: SomeFlags.default({}),
  })
  .meta({ id: "NewWebhook" });

const ChangedWebhook = z
  .object({
    url: z.string().min(1).max(2048).optional(),
    secret: Secret.nullish().meta({ description: "Left out, it stays; empty, it is taken away." }),
    events: SomeFlags.optional(),
  })
  .meta({ id: "ChangedWebhook" });

const getWebhooks = route({
  ...guarded,
  method: "get",
  path,
  operationId: "listWebhooks",
  summary: "List the webhooks of a project",
  list: "webhookList",
  asOf: { readModels: [webhookProjection] },
  reply: WebhookView,
  handle: ({ page, request: { project } }, deps) =>
    listed(listWebhooks(deps.db, project.id, page), (row) => webhookView(row, deps)),
});

const getWebhook = route({
  ...guarded,
  method: "get",
  path: `${path}/{id}`,
  operationId: "getWebhook",
  summary: "Get a webhook",
  asOf: { readModels: [webhookProjection] },
  reply: WebhookView,
  handle: async ({ params, request }, deps) =>
    webhookView(await mustFindWebhook(deps, request, params.id), deps),
});

const postWebhook = route({
  ...guarded,
  method: "post",
  path,
  operationId: "createWebhook",
  summary: "Create a webhook",
  body: NewWebhook,
  reply: WebhookView,
  async handle({ body, request }, deps) {
    const webhookId = WebhookId.parse(deterministicId(request.commandId, "webhook"));
    const { id: projectId } = request.project;
    const command = {
      type: "CreateWebhook",
      webhookId,
      projectId,
      url: checkedUrl(deps, "url", body.url).href,
      secret: await sealedSecret(deps, projectId, body.secret ?? ""),
      topics: topicsOf(body.events),
      ...stampOf(request, deps),
    } as const;
    await request.execute(webhook, webhookId, command);
    return webhookView(await mustFindWebhook(deps, request, webhookId), deps);
  },
});

const changeWebhook = route({
  ...guarded,
  method: "post",
  path: `${path}/{id}`,
  operationId: "changeWebhook",
  summary: "Change a webhook",
  description: "What is left out stays. A webhook that was switched off is on again.",
  body: ChangedWebhook,
  reply: WebhookView,
  async handle({ params, body, request }, deps) {
    const { id: projectId } = request.project;
    const { url, secret, events } = body;
    const command = {
      type: "ReconfigureWebhook",
      projectId,
      ...(url !== undefined && { url: checkedUrl(deps, "url", url).href }),
      ...(secret !== undefined && {
        secret: await sealedSecret(deps, projectId, secret ?? ""),
      }),
      ...(events !== undefined && { topics: topicsOf(events) }),
      ...stampOf(request, deps),
    } as const;
    await request.execute(webhook, params.id, command);
    return webhookView(await mustFindWebhook(deps, request, params.id), deps);
  },
});

const deleteWebhook = route({
  ...guarded,
  method: "post",
  path: `${path}/{id}/delete`,
  operationId: "deleteWebhook",
  summary: "Delete a webhook and the log of its deliveries",
  reply: "empty",
  async handle({ params, request }, deps) {
    await mustFindWebhook(deps, request, params.id);
    const command = {
      type: "DeleteWebhook",
      projectId: request.project.id,
      ...stampOf(request, deps),
    } as const;
    await request.execute(webhook, params.id, command);
  },
});

export const webhookRoutes: readonly Route[] = [
  changeWebhook,
  deleteWebhook,
  getWebhook,
  getWebhooks,
  postWebhook,
];

/** @throws Refusal not_found, also for a webhook of another project */
export const mustFindWebhook = oneInProject(
  findWebhook,
  () => new Refusal("not_found", "webhook.not_found", "Webhook not found."),
);

async function sealedSecret(
  { vault }: Pick<Deps, "vault">,
  projectId: string,
  secret: string,
): Promise<Sealed | null> {
  return secret === "" ? null : vault.seal(projectSubject(projectId), secret);
}

/** @throws Refusal unprocessable */
export function mustBeOn(row: WebhookRow): WebhookRow {
  if (row.switched_off_at === null) return row;
  const message = "The webhook was switched off. Change it to switch it on.";
  throw new Refusal("unprocessable", "webhook.switched_off", message);
}
