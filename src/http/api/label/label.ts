import { z } from "zod";
import { createLabel, deleteLabel, editLabel } from "../../../commands/label/change-label.ts";
import { labelNotFound } from "../../../commands/label/label.ts";
import { type LabelDetails, LabelId } from "../../../events/label/label.ts";
import { deterministicId } from "../../../platform/deterministic-id.ts";
import { findLabel, labelProjection, listLabels } from "../../../projections/label/label.ts";
import { commandDeps, projectStampOf } from "../../core/command-deps.ts";
import { oneInProject } from "../../core/one-below.ts";
import { listed } from "../../core/paging.ts";
import { type Route, route } from "../../core/route.ts";
import { oneLine, prose } from "../../core/schema.ts";
import { colorOf } from "../../core/selector.ts";
import { LabelView, labelView } from "./view.ts";

const tag = "Issues";
const path = "/project/{ownerAlias}/{projectAlias}/label";

const reading = { tag, scope: "PROJECT_READ", access: "project:GUEST" } as const;
const writing = { tag, scope: "PROJECT_WRITE", access: "project:REPORTER" } as const;

const Details = z.object({
  title: oneLine(255),
  description: prose(1_000).nullish(),
  hexColor: z
    .string()
    .trim()
    .toLowerCase()
    .max(7)
    .regex(/^#[0-9a-f]{6}$/, "Use # and six hex digits.")
    .meta({ examples: ["#cf222e"] }),
});

const NewLabel = Details.extend({
  hexColor: Details.shape.hexColor.nullish().meta({ description: "Chosen when left out." }),
}).meta({ id: "NewLabel" });

const EditedLabel = Details.partial().meta({ id: "EditedLabel" });

const getLabels = route({
  ...reading,
  method: "get",
  path,
  operationId: "listLabels",
  summary: "List the labels of a project",
  description: "By title.",
  list: "labelList",
  asOf: { readModels: [labelProjection] },
  reply: LabelView,
  handle: ({ page, request: { project } }, { db }) =>
    listed(listLabels(db, project.id, page), labelView),
});

const getLabel = route({
  ...reading,
  method: "get",
  path: `${path}/{labelUuid}`,
  operationId: "getLabel",
  summary: "Get a label",
  asOf: { readModels: [labelProjection] },
  reply: LabelView,
  handle: async ({ params, request }, deps) =>
    labelView(await mustFindLabel(deps, request, params.labelUuid)),
});

const postLabel = route({
  ...writing,
  method: "post",
  path,
  operationId: "createLabel",
  summary: "Create a label",
  body: NewLabel,
  reply: LabelView,
  async handle({ body: { title, description, hexColor }, request }, deps) {
    const labelId = LabelId.parse(deterministicId(request.commandId, "label"));
    const details: Required<LabelDetails> = {
      title,
      description: description ?? null,
      hexColor: hexColor ?? colorOf(labelId),
    };
    const command = {
      type: "CreateLabel",
      labelId,
      details,
      ...projectStampOf(request, deps),
    } as const;
    await request.executeProcess((metadata) =>
      createLabel(commandDeps(deps), { id: labelId, metadata }, command),
    );
    return labelView(await mustFindLabel(deps, request, labelId));
  },
});

const putLabel = route({
  ...writing,
  method: "put",
  path: `${path}/{labelUuid}`,
  operationId: "editLabel",
  summary: "Edit a label",
  description: "Fields that are left out stay.",
  body: EditedLabel,
  reply: LabelView,
  async handle({ params: { labelUuid }, body, request }, deps) {
    const row = await mustFindLabel(deps, request, labelUuid);
    const details: Required<LabelDetails> = {
      title: body.title ?? row.title,
      description: body.description === undefined ? row.description : body.description,
      hexColor: body.hexColor ?? row.hex_color,
    };
    const command = { type: "EditLabel", details, ...projectStampOf(request, deps) } as const;
    await request.executeProcess((metadata) =>
      editLabel(commandDeps(deps), { id: labelUuid, metadata }, command),
    );
    return labelView(await mustFindLabel(deps, request, labelUuid));
  },
});

const removeLabel = route({
  ...writing,
  method: "delete",
  path: `${path}/{labelUuid}`,
  operationId: "deleteLabel",
  summary: "Delete a label",
  description: "Issues and merge requests lose it.",
  reply: "empty",
  async handle({ params: { labelUuid }, request }, deps) {
    await mustFindLabel(deps, request, labelUuid);
    const command = { type: "DeleteLabel", ...projectStampOf(request, deps) } as const;
    await request.executeProcess((metadata) =>
      deleteLabel(commandDeps(deps), { id: labelUuid, metadata }, command),
    );
  },
});

export const labelRoutes: readonly Route[] = [
  getLabel,
  getLabels,
  postLabel,
  putLabel,
  removeLabel,
];

/** @throws Refusal 404 `label.not_found`, also for a label of another project */
const mustFindLabel = oneInProject(findLabel, labelNotFound);
