import { z } from "zod";

import { Refusal } from "../../../platform/refusal.ts";
import { type AuditDay, lastAuditDays } from "../../../projections/audit/day.ts";
import { projectionStatuses } from "../../../projections/status.ts";
import { AgentView } from "../../api/agent/view.ts";
import type { Deps } from "../../core/deps.ts";
import { PageNumber, pager, pageSize } from "../common/pager.ts";
import { empty, nothing, seen, statusPiece, when } from "../common/piece.ts";
import { besides } from "../common/project-page.ts";
import { baseOf } from "../common/text.ts";
import { type Html, html } from "../core/html.ts";
import { type PageRoute, page } from "../core/route.ts";
import { row, tableOf } from "../core/table.ts";
import { deliveriesPiece, deliveryPages } from "./delivery.ts";

const daysMax = 90;

const showOperations = page({
  method: "get",
  path: "/page/admin/operations",
  operationId: "showOperations",
  access: "session",
  async handle({ visit }, deps) {
    if (!visit.isAdmin) {
      throw new Refusal("forbidden", "auth.admin_required", "Only administrators may do this.");
    }
    const base = baseOf(deps);
    const [statuses, days, queues, deliveries] = await Promise.all([
      projectionStatuses(deps.db, deps.store, deps.now()),
      lastAuditDays(deps.db, daysMax),
      queueTable(deps),
      deliveriesPiece(base, visit, deps),
    ]);
    const isLive = statuses.every(({ state }) => state === "live");
    const behind = Math.max(0, ...statuses.map(({ lagPositions }) => Number(lagPositions)));
    const rows = statuses.map(({ name, state, lagPositions, lagSeconds }) =>
      row(
        name,
        statusPiece(state === "live" ? "success" : "failed", state),
        String(lagPositions),
        `${lagSeconds.toFixed(1)} s`,
      ),
    );
    return {
      title: "Operations",
      wide: true,
      body: () => html`<p class="actions"><a class="button quiet" href="${base}/admin/audit">Audit</a> <a class="button quiet" href="${base}/admin/runners">Agents</a> <a class="button quiet" href="${base}/admin/queues">Jobs of the queues</a></p>
<section aria-labelledby="models"><h2 id="models">Read models</h2>
<p>${statusPiece(isLive ? "success" : "failed", isLive ? "all live" : "not all live")} ${statuses.length} read models, ${behind} events behind at most.</p>
<details${!isLive && html` open`}><summary>Each of them</summary>${tableOf("Read models", ["Name", "State", "Events behind", "Time behind"], rows)}</details></section>
<section aria-labelledby="growth" class="plot"><h2 id="growth">Growth of the log</h2>${plot(days)}</section>
<section aria-labelledby="deliveries"><h2 id="deliveries">Deliveries of webhooks in trouble</h2>${deliveries}</section>
<section aria-labelledby="queues"><h2 id="queues">Queues</h2>${queues}</section>`,
    };
  },
});

const states = ["waiting", "active", "delayed", "failed"] as const;

async function queueTable({ queues, log }: Deps): Promise<Html> {
  // The workers are another role's, and a fair part of what there is to load.
  const { allWorkers } = await import("../../../workers/all.ts");
  const names = [...new Set(allWorkers.map(({ queue }) => queue))].sort();
  const rows = await Promise.all(
    names.map(async (name) => {
      const counts: Readonly<Record<string, number>> = await queues
        .queue(name)
        .getJobCounts(...states)
        .catch((error: unknown) => {
          log.warn({ err: error, queue: name }, "a queue cannot be measured");
          return {};
        });
      return row(name, ...states.map((state) => counts[state] ?? "?"));
    }),
  );
  return tableOf("Queues", ["Queue", "Waiting", "Active", "Delayed", "Failed"], rows);
}

const sizes = { width: 900, height: 180 };

/** Events of each day as bars. The words stand around it: within, a narrow screen would shrink them. */
function plot(some: readonly AuditDay[]): Html {
  const days = everyDay(some);
  const most = Math.max(0, ...days.map(({ positions }) => positions));
  if (most === 0) return nothing("Nothing has happened yet.");
  const { width, height } = sizes;
  const step = width / days.length;
  const bars = days.map(({ day, positions }, index) => {
    const tall = Math.max(1, (positions / most) * height);
    const bar = { x: (index * step).toFixed(1), y: (height - tall).toFixed(1) };
    return html`<rect class="bar" x="${bar.x}" y="${bar.y}" width="${Math.max(1, step - 2).toFixed(1)}" height="${tall.toFixed(1)}"><title>${day}: ${positions}</title></rect>`;
  });
  const [first, last] = [days[0]?.day, days.at(-1)?.day];
  return html`<p class="hint">At most ${most} ${most === 1 ? "event" : "events"} a day</p>
<svg viewBox="0 0 ${width} ${height}" preserveAspectRatio="none" role="img" aria-label="Events of each day from ${first} to ${last}, at most ${most}">
${bars}</svg>
<p class="ends hint"><time datetime="${first}">${first}</time> <time datetime="${last}">${last}</time></p>`;
}

const dayMs = 24 * 60 * 60_000;

/** The days up to the last one, those without events as well. */
function everyDay(some: readonly AuditDay[]): readonly AuditDay[] {
  const last = some.at(-1);
  if (last === undefined) return [];
  const positionsByDay = new Map(some.map((one) => [one.day, one.positions]));
  return Array.from({ length: daysMax }, (_, index) => {
    const at = new Date(Date.parse(last.day) - (daysMax - 1 - index) * dayMs);
    const day = at.toISOString().slice(0, 10);
    return { day, positions: positionsByDay.get(day) ?? 0 };
  });
}

const showAgents = page({
  ...besides,
  path: "/admin/runners",
  operationId: "showInstanceAgents",
  query: z.object({ page: PageNumber }),
  async handle({ query: { page: number }, visit }, deps) {
    const input = { page: { number, size: pageSize } };
    const { items, totalElements } = await visit.operations.list(
      "listInstanceAgents",
      AgentView,
      input,
    );
    const rows = items.map((one) =>
      row(
        seen(one.name),
        one.active ? "active" : "paused",
        one.ownerType.toLowerCase(),
        seen(one.tags.join(", ")),
        one.connectedAt === null ? "never" : when(one.connectedAt),
      ),
    );
    const address = `${baseOf(deps)}/admin/runners`;
    return {
      title: "Agents",
      wide: true,
      body: () => html`<section>${rows.length === 0 ? empty("No agents.", html`One is registered by <code>ledgerforge agent register --url ${deps.publicUrl} --token TOKEN</code>.`) : tableOf("Agents", ["Name", "State", "Of", "Tags", "Last contact"], rows)}
${pager({ address, number, total: totalElements })}</section>`,
    };
  },
});

export const opsPages: readonly PageRoute[] = [...deliveryPages, showAgents, showOperations];
