import { z } from "zod";
import { defined } from "../../../commands/core/defined.ts";
import {
  type MergeSettingCommand,
  mergeSetting,
} from "../../../commands/merge-request/merge-setting.ts";
import { MergeStrategy } from "../../../events/merge-request/merge-setting.ts";
import {
  mergeSettingProjection,
  mergeSettingsOf,
} from "../../../projections/merge-request/merge-setting.ts";
import { projectStampOf } from "../../core/command-deps.ts";
import type { RequestFor } from "../../core/request.ts";
import { type Route, route } from "../../core/route.ts";
import { bool, prose } from "../../core/schema.ts";

const base = "/project/{ownerAlias}/{projectAlias}/setting";
/** Two versions of all of them are in one event. */
const templateLengthMax = 50_000;

const tag = "Merge requests";
const reading = {
  tag,
  method: "get",
  scope: "PROJECT_READ",
  access: "project:GUEST",
} as const;
const changing = {
  tag,
  method: "put",
  scope: "PROJECT_EDIT",
  access: "project:ADMIN",
} as const;

const settings = {
  mergeStrategy: MergeStrategy,
  allowedStrategies: z.array(MergeStrategy).min(1).max(MergeStrategy.options.length),
  squash: z.enum(["NEVER", "ALLOWED", "ALWAYS"]),
};
const SettingsView = z.object(settings).meta({ id: "MergeSettings" });
const SettingsChange = z
  .object(settings)
  .partial()
  .meta({ id: "MergeSettingsChange", description: "What is not given stays as it is." });

const Template = prose(templateLengthMax);
const MessagesView = z
  .object({
    mergeCommitMessage: z.string(),
    squashCommitMessage: z.string(),
    mergeRequestDescriptionTemplate: z.string(),
    canEditMergeCommitMessage: z.boolean(),
  })
  .meta({ id: "MergeMessages" });
const MessagesChange = z
  .object({
    mergeCommitMessage: Template.optional(),
    squashCommitMessage: Template.optional(),
    mergeRequestDescriptionTemplate: Template.optional(),
    canEditMergeCommitMessage: bool().optional(),
  })
  .meta({ id: "MergeMessagesChange", description: "What is not given stays as it is." });

const getSettings = route({
  ...reading,
  path: `${base}/merge`,
  operationId: "getMergeSettings",
  summary: "Get how a project merges",
  asOf: { readModels: [mergeSettingProjection] },
  reply: SettingsView,
  handle: async ({ request }, { db }) => viewOf(await mergeSettingsOf(db, request.project.id)),
});

const putSettings = route({
  ...changing,
  path: `${base}/merge`,
  operationId: "changeMergeSettings",
  summary: "Change how a project merges",
  body: SettingsChange,
  reply: SettingsView,
  async handle({ body, request }, deps) {
    const change = defined(body);
    await write({ type: "ChangeMergeSettings", change, ...projectStampOf(request, deps) }, request);
    return viewOf(await mergeSettingsOf(deps.db, request.project.id));
  },
});

const getMessages = route({
  ...reading,
  path: `${base}/merge-message`,
  operationId: "getMergeMessages",
  summary: "Get the templates for messages of merges",
  asOf: { readModels: [mergeSettingProjection] },
  reply: MessagesView,
  handle: async ({ request }, { db }) => (await mergeSettingsOf(db, request.project.id)).messages,
});

const putMessages = route({
  ...changing,
  path: `${base}/merge-message`,
  operationId: "changeMergeMessages",
  summary: "Change the templates for messages of merges",
  description: "Variables such as `%{title}` are replaced when the merge is made.",
  body: MessagesChange,
  reply: MessagesView,
  async handle({ body, request }, deps) {
    const change = defined(body);
    await write({ type: "ChangeMergeMessages", change, ...projectStampOf(request, deps) }, request);
    return (await mergeSettingsOf(deps.db, request.project.id)).messages;
  },
});

export const mergeSettingRoutes: readonly Route[] = [
  getSettings,
  putSettings,
  getMessages,
  putMessages,
];

type Writing = RequestFor<"project:ADMIN">;

const viewOf = ({ settings: kept }: Awaited<ReturnType<typeof mergeSettingsOf>>) => ({
  ...kept,
  allowedStrategies: [...kept.allowedStrategies],
});

const write = (command: MergeSettingCommand, request: Writing): Promise<void> =>
  request.execute(mergeSetting, request.project.id, command);
