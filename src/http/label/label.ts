import { z } from "zod";
import { createLabel, deleteLabel, editLabel } from "../../commands/label/change-label.ts";
import { labelNotFound } from "../../commands/label/label.ts";
import { LabelId } from "../../events/label/label.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import {
  findLabel,
  type LabelRow,
  labelProjection,
  listLabels,
} from "../../projections/label/label.ts";
import { commandDeps, projectStampOf } from "../core/command-deps.ts";
import type { Deps } from "../core/deps.ts";
import type { RequestFor } from "../core/request.ts";
import { type Route, route } from "../core/route.ts";
import { oneLine, prose } from "../core/schema.ts";
import { colorOf } from "../core/selector.ts";
import { LabelView, presentLabel } from "./view.ts";

const tag = "Issues";
const path = "/project/{ownerAlias}/{projectAlias}/label";
const names = { ownerAlias: z.string(), projectAlias: z.string() };
const LabelParams = z.object({ ...names, labelUuid: LabelId });

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
  params: z.object(names),
  list: "labelList",
  asOf: { readModels: [labelProjection] },
  reply: LabelView,
  errors: [403, 404, 422],
  async handle({ page: { size, offset }, request: { project } }, { db }) {
    const { rows, total } = await listLabels(db, project.id, { limit: size, offset });
    return { items: rows.map(presentLabel), totalElements: total };
  },
});

const getLabel = route({
  ...reading,
  method: "get",
  path: `${path}/{labelUuid}`,
  operationId: "getLabel",
  summary: "Get a label",
  params: LabelParams,
  asOf: { readModels: [labelProjection] },
  reply: LabelView,
  errors: [403, 404],
  handle: async ({ params, request }, deps) =>
    presentLabel(await mustFindLabel(params.labelUuid, request, deps)),
});

const postLabel = route({
  ...writing,
  method: "post",
  path,
  operationId: "createLabel",
  summary: "Create a label",
  params: z.object(names),
  body: NewLabel,
  reply: LabelView,
  errors: [403, 404, 409, 422],
  async handle({ body: { title, description, hexColor }, request }, deps) {
    const labelId = LabelId.parse(deterministicId(request.commandId, "label"));
    const details = {
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
    return presentLabel(await mustFindLabel(labelId, request, deps));
  },
});

const putLabel = route({
  ...writing,
  method: "put",
  path: `${path}/{labelUuid}`,
  operationId: "editLabel",
  summary: "Edit a label",
  description: "Fields that are left out stay.",
  params: LabelParams,
  body: EditedLabel,
  reply: LabelView,
  errors: [403, 404, 422],
  async handle({ params: { labelUuid }, body, request }, deps) {
    const row = await mustFindLabel(labelUuid, request, deps);
    const details = {
      title: body.title ?? row.title,
      description: body.description === undefined ? row.description : body.description,
      hexColor: body.hexColor ?? row.hex_color,
    };
    const command = { type: "EditLabel", details, ...projectStampOf(request, deps) } as const;
    await request.executeProcess((metadata) =>
      editLabel(commandDeps(deps), { id: labelUuid, metadata }, command),
    );
    return presentLabel(await mustFindLabel(labelUuid, request, deps));
  },
});

const removeLabel = route({
  ...writing,
  method: "delete",
  path: `${path}/{labelUuid}`,
  operationId: "deleteLabel",
  summary: "Delete a label",
  description: "Issues and merge requests lose it.",
  params: LabelParams,
  reply: "empty",
  errors: [403, 404],
  async handle({ params: { labelUuid }, request }, deps) {
    await mustFindLabel(labelUuid, request, deps);
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
async function mustFindLabel(
  id: LabelId,
  { project }: Pick<RequestFor<"project:GUEST">, "project">,
  { db }: Pick<Deps, "db">,
): Promise<LabelRow> {
  const row = await findLabel(db, project.id, id);
  if (row === undefined) throw labelNotFound();
  return row;
}
