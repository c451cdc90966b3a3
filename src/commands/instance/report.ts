import type { UserId } from "../../events/core/ids.ts";
import { type ReportEvent, reportEvents, reportStream } from "../../events/instance/report.ts";
import { unreachable } from "../../platform/invariant.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Slice } from "../core/decider.ts";

type Filed = Extract<ReportEvent, { type: "ReportFiled" }>["data"];

export type ReportCommand =
  | Readonly<{ type: "FileReport"; report: Omit<Filed, "filedAt">; at: string }>
  | Readonly<{ type: "CloseReport"; reportId: string; by: UserId; at: string }>;

type State = Readonly<{ openId: string | undefined; closedIds: readonly string[] }>;

export const report: Slice<State, ReportCommand, typeof reportEvents> = {
  events: reportEvents,
  stream: reportStream,
  initialState: { openId: undefined, closedIds: [] },

  decide({ openId, closedIds }, command) {
    const { at } = command;
    switch (command.type) {
      case "FileReport":
        if (openId !== undefined) throw alreadyOpen();
        return [{ type: "ReportFiled", data: { ...command.report, filedAt: at } }];
      case "CloseReport": {
        const { reportId, by: closedById } = command;
        // Closed twice, for example by two administrators at once: the first one did it.
        if (closedIds.includes(reportId)) return [];
        if (openId !== reportId) throw notFound();
        return [{ type: "ReportClosed", data: { reportId, closedById, closedAt: at } }];
      }
      default:
        return unreachable(command);
    }
  },

  evolve({ closedIds }, { type, data: { reportId } }) {
    if (type === "ReportFiled") return { openId: reportId, closedIds };
    return { openId: undefined, closedIds: [...closedIds, reportId] };
  },
};

function alreadyOpen(): Refusal {
  const message = "You have reported this already; an administrator will read it.";
  return new Refusal("unprocessable", "report.exists", message, {
    errors: [{ field: "reason", code: "report.exists", message }],
  });
}

const notFound = (): Refusal => new Refusal("not_found", "report.not_found", "Report not found.");
