import { z } from "zod";
import { ScheduleView } from "../../api/pipeline/schedule.ts";
import { button, simpleAct } from "../common/form.ts";
import { PageNumber, pager, pageSize } from "../common/pager.ts";
import { brief, empty, seen, when, word } from "../common/piece.ts";
import { projectPage } from "../common/project-page.ts";
import { type Html, html } from "../core/html.ts";
import type { PageRoute, Visit } from "../core/route.ts";
import { row, tableOf } from "../core/table.ts";
import { at } from "../pipeline/address.ts";
import { pipelinesPath, schedulePath, schedulesPath } from "./address.ts";
import { ownersOf } from "./owner.ts";
import { backToPipelines, openTo } from "./place.ts";

type Schedule = z.output<typeof ScheduleView>;

const ownActs = [
  "playPipelineSchedule",
  "changePipelineSchedule",
  "deletePipelineSchedule",
] as const;
const othersActs = ["takeOverPipelineSchedule"] as const;
const acts = [...ownActs, ...othersActs] as const;
type May = ReadonlySet<(typeof acts)[number]>;

const showSchedules = projectPage({
  path: `${at}/schedule`,
  operationId: "showPipelineSchedules",
  query: z.object({ page: PageNumber }),
  tab: "pipelines",
  async show({ params, query: { page: number }, visit, names: of, base }) {
    const input = { params, page: { number, size: pageSize } };
    const { items, totalElements: total } = await visit.operations.list(
      "listPipelineSchedules",
      ScheduleView,
      input,
    );
    const ownerOf = await ownersOf(base, items, visit);
    const may = await openTo(visit, { ...params, id: items[0]?.id ?? "" }, acts);
    const mayCreate = await visit.operations.may("createPipelineSchedule", params);
    const rows = items.map((one) =>
      row(
        brief(one.description) || "–",
        html`<code>${word(seen(one.cron))}</code>`,
        word(seen(one.timezone)),
        `${one.isTag ? "tag " : ""}${seen(one.refName)}`,
        one.active ? "on" : "off",
        one.nextRunAt === null ? "–" : when(one.nextRunAt),
        ownerOf(one),
        actsPiece(`${base}/page${schedulePath(of, one.id)}`, one, { may, visit }),
      ),
    );
    const address = base + schedulesPath(of);
    const next = "A schedule starts a pipeline of a branch or tag at the times that it names.";
    return {
      title: "Schedules",
      body: () => html`<section>${mayCreate && html`<p class="actions"><a class="button" href="${base}/page${schedulesPath(of)}/new">New schedule</a></p>`}
${rows.length === 0 ? empty("No schedules.", next) : tableOf("Schedules", head, rows)}
${pager({ address, number, total })}</section>
${backToPipelines(base, of)}`,
    };
  },
});

const head = [
  ...["Schedule", "Cron", "Time zone", "Branch or tag"],
  ...["State", "Next run", "Owner", ""],
];

function actsPiece(
  to: string,
  { description, ownerId }: Schedule,
  { may: open, visit }: Readonly<{ may: May; visit: Visit }>,
): Html | false {
  const fitting: readonly string[] = ownerId === visit.userId ? ownActs : othersActs;
  const may: May = new Set([...open].filter((act) => fitting.includes(act)));
  const named = (verb: string) =>
    html`${verb}<span class="hidden"> ${brief(description) || "schedule"}</span>`;
  const danger = { kind: "quiet danger" } as const;
  return (
    may.size > 0 &&
    html`<div class="actions">${may.has("playPipelineSchedule") && button(`${to}/play`, visit, named("Run now"))}
${may.has("changePipelineSchedule") && html`<a class="button quiet" href="${to}/edit">${named("Edit")}</a>`}
${may.has("takeOverPipelineSchedule") && button(`${to}/take-over`, visit, named("Take over"))}
${may.has("deletePipelineSchedule") && button(`${to}/delete`, visit, named("Delete"), danger)}</div>`
  );
}

const play = simpleAct({
  path: `${at}/schedule/{id}/play`,
  operationId: "playPipelineScheduleByPage",
  apiOperation: "playPipelineSchedule",
  back: (params) => pipelinesPath(params),
});

const takeOver = simpleAct({
  path: `${at}/schedule/{id}/take-over`,
  operationId: "takeOverPipelineScheduleByPage",
  apiOperation: "takeOverPipelineSchedule",
  back: (params) => schedulesPath(params),
});

const remove = simpleAct({
  path: `${at}/schedule/{id}/delete`,
  operationId: "deletePipelineScheduleByPage",
  apiOperation: "deletePipelineSchedule",
  back: (params) => schedulesPath(params),
});

export const schedulePages: readonly PageRoute[] = [play, remove, showSchedules, takeOver];
