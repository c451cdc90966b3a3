import type { z } from "zod";

import { notOwner } from "../../../commands/pipeline/schedule.ts";
import { ScheduleView } from "../../api/pipeline/schedule.ts";
import { invalid } from "../../core/schema.ts";
import { drawnForm, type FormPlace, projectForm } from "../common/form-page.ts";
import { seen } from "../common/piece.ts";
import { areaField, boxes, lineField, type Typed, textOf } from "../common/sheet.ts";
import { type Html, html } from "../core/html.ts";
import type { PageRoute } from "../core/route.ts";
import { mustBeAsSeen } from "../issue/form-page.ts";
import { at } from "../pipeline/address.ts";
import { schedulesPath } from "./address.ts";
import { box, isTicked, neededAgain, versionOf, withoutSecret } from "./typed.ts";

type Schedule = z.output<typeof ScheduleView>;

const fields = [
  ...["description", "cron", "timezone", "refName", "isTag", "active"],
  ...["variables", "removeVariables"],
];

/** Offered while one types; the operation knows which others there are. */
const timezones = ["UTC", ...Intl.supportedValuesOf("timeZone")];

/** @param schedule that is edited */
function scheduleForm(place: FormPlace, schedule?: Schedule): Html {
  const sheet = withoutSecret(place.sheet, "variables");
  const cronHint = "Minute, hour, day, month, day of the week: 0 3 * * 1-5 is 3:00 on weekdays.";
  const version = schedule && versionOf(typedOf(schedule));
  return drawnForm(
    place,
    { label: "Schedule", fields, version },
    html`${lineField(sheet, { name: "description", label: "Description" })}
${lineField(sheet, { name: "cron", label: "Cron", required: true, hint: cronHint })}
${lineField(sheet, { name: "timezone", label: "Time zone", required: true, options: timezones })}
${lineField(sheet, { name: "refName", label: "Branch or tag", required: true })}
${boxes(sheet, { name: "isTag", label: "Kind", options: box("It is a tag") })}
${areaField(sheet, {
  ...{ name: "variables", label: "Variables, KEY=value a line", rows: 4 },
  ...{ hint: variablesHint(schedule), ...neededAgain(place.sheet, "variables") },
})}
${
  (schedule?.variables.length ?? 0) > 0 &&
  boxes(sheet, {
    ...{ name: "removeVariables", label: "Variables that it has" },
    options: box("Remove them"),
  })
}
${boxes(sheet, { name: "active", label: "State", options: box("On") })}`,
  );
}

function variablesHint(schedule: Schedule | undefined): string {
  if (schedule === undefined) return "Jobs of its pipelines get them. Values are not shown again.";
  const keys = schedule.variables.map(({ key }) => seen(key));
  if (keys.length === 0) return "It has none. Values are not shown again.";
  return `It has ${keys.join(", ")}. Empty: these stay. What is typed replaces all of them.`;
}

const newSchedule = projectForm({
  path: `${at}/schedule/new`,
  operationIds: ["showNewPipelineSchedule", "createPipelineScheduleByPage"],
  tab: "pipelines",
  async show({ params, names: of, project, sheet, visit, base }) {
    await visit.operations.project("createPipelineSchedule", params);
    const preset = { timezone: ["UTC"], refName: [project.defaultBranch], active: ["true"] };
    const filled = sheet.failure === undefined ? { typed: { ...preset, ...sheet.typed } } : sheet;
    const place = { base, visit, back: schedulesPath(of), words: "Create schedule" };
    return { title: "New schedule", body: scheduleForm({ ...place, sheet: filled }) };
  },
  async send({ params, typed, visit }) {
    await visit.operations.run("createPipelineSchedule", { params, body: bodyOf(typed) });
    return schedulesPath(params);
  },
});

const editSchedule = projectForm({
  path: `${at}/schedule/{id}/edit`,
  operationIds: ["showPipelineScheduleToEdit", "editPipelineScheduleByPage"],
  tab: "pipelines",
  async show({ params, names: of, sheet, visit, base }) {
    await visit.operations.project("changePipelineSchedule", params);
    const schedule = await visit.operations.one("getPipelineSchedule", ScheduleView, { params });
    if (schedule.ownerId !== visit.userId) throw notOwner();
    const filled = sheet.failure === undefined ? { typed: typedOf(schedule) } : sheet;
    const place = { base, sheet: filled, visit, back: schedulesPath(of), words: "Save" };
    return { title: "Edit schedule", body: scheduleForm(place, schedule) };
  },
  async send({ params, typed, visit }) {
    const schedule = await visit.operations.one("getPipelineSchedule", ScheduleView, { params });
    mustBeAsSeen(typed, versionOf(typedOf(schedule)));
    await visit.operations.run("changePipelineSchedule", { params, body: bodyOf(typed) });
    return schedulesPath(params);
  },
});

const typedOf = ({ description, cron, timezone, refName, isTag, active, variables }: Schedule) => ({
  ...{ description: [description], cron: [cron], timezone: [timezone], refName: [refName] },
  isTag: [String(isTag)],
  active: [String(active)],
  keys: variables.map(({ key }) => key),
});

function bodyOf(typed: Typed) {
  const text = (name: string) => textOf({ typed }, name).trim();
  const variables = variablesIn(textOf({ typed }, "variables"));
  const isSet = variables.length > 0 || isTicked(typed, "removeVariables");
  return {
    description: textOf({ typed }, "description"),
    ...{ cron: text("cron"), timezone: text("timezone"), refName: text("refName") },
    isTag: isTicked(typed, "isTag"),
    active: isTicked(typed, "active"),
    ...(isSet && { variables }),
  };
}

/** @throws Refusal 422 when a line names no key */
function variablesIn(text: string) {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return lines.map((line) => {
    const [, key = "", value = ""] = /^([^=]*)=(.*)$/.exec(line) ?? [];
    if (key.trim() !== "") return { key: key.trim(), value };
    const message = "Write a key, = and its value in each line.";
    throw invalid([{ field: "variables", code: "variable.key_missing", message }]);
  });
}

export const scheduleFormPages: readonly PageRoute[] = [...newSchedule, ...editSchedule];
