import { z } from "zod";

import type { EventSchemas } from "../core/event.ts";
import { IsoInstant, UserId } from "../core/ids.ts";
import { Sealed } from "../core/sealed.ts";
import { streamName } from "../core/stream.ts";

/** Whose variable it is; SERVICE: of all projects. */
export const VariableParent = z.enum(["PROJECT", "TEAM", "COMPANY", "SERVICE"]);
export type VariableParent = z.output<typeof VariableParent>;

/** In the place of the id of a parent. */
export const serviceId = "00000000-0000-0000-0000-000000000000";

const Settings = z.object({
  key: z.string().min(1),
  value: Sealed,
  /** Template of names of environments; null: all of them, and jobs without one. */
  environmentScope: z.string().nullable(),
  masked: z.boolean(),
  /** For protected branches and tags alone. */
  protected: z.boolean(),
  /** FILE: the job finds the value in a file, and its path in the variable. */
  kind: z.enum(["VARIABLE", "FILE"]),
  description: z.string().nullable(),
});
export type VariableSettings = Readonly<z.output<typeof Settings>>;

const Variable = z.object({ variableId: z.uuid(), parentId: z.uuid(), parentType: VariableParent });

export const pipelineVariableEvents = {
  PipelineVariableCreated: Variable.extend({
    settings: Settings,
    createdById: UserId,
    createdAt: IsoInstant,
  }),
  PipelineVariableChanged: Variable.extend({
    settings: Settings,
    changedById: UserId,
    changedAt: IsoInstant,
  }),
  PipelineVariableDeleted: Variable.extend({
    key: z.string(),
    deletedById: UserId,
    deletedAt: IsoInstant,
  }),
} as const satisfies EventSchemas;

/** All variables of one parent. */
export const pipelineVariableStream = (parentId: string): string =>
  streamName("pipelineVariable", parentId);

/** Under whose key values are sealed. A project's goes when the project is purged. */
export const variableSubject = (parentType: VariableParent, parentId: string): string =>
  `${parentType.toLowerCase()}-${parentId}`;
