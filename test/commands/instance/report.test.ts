import { report } from "../../../src/commands/instance/report.ts";
import { UserId } from "../../../src/events/core/ids.ts";
import type { ReportEvent } from "../../../src/events/instance/report.ts";
import { specify } from "../../support/app/decider.ts";
import { at } from "../../support/app/history.ts";

const given = specify(report);
const reporterId = UserId.parse("0b9f2d3a-6f0e-4c35-8a9e-0d1f2a3b4c5d");
const filedAs = (reportId: string) =>
  ({
    reportId,
    parentId: "p",
    parentType: "TEAM",
    reporterId,
    reason: "SPAM",
    text: null,
  }) as const;
const filed = (id: string): ReportEvent => ({
  type: "ReportFiled",
  data: { ...filedAs(id), filedAt: at },
});
const closed = (reportId: string): ReportEvent => ({
  type: "ReportClosed",
  data: { reportId, closedById: reporterId, closedAt: at },
});
const file = (id: string) => ({ type: "FileReport", report: filedAs(id), at }) as const;
const close = (reportId: string) =>
  ({ type: "CloseReport", reportId, by: reporterId, at }) as const;

describe("a report", () => {
  it("is filed once at a time, and again after it was closed", () => {
    given().when(file("r1")).gives(filed("r1"));
    given(filed("r1")).when(file("r2")).refuses("report.exists");
    given(filed("r1"), closed("r1")).when(file("r2")).gives(filed("r2"));
  });

  it("is closed once", () => {
    given(filed("r1")).when(close("r1")).gives(closed("r1"));
    given(filed("r1"), closed("r1")).when(close("r1")).givesNothing();
    given(filed("r1")).when(close("r2")).refuses("report.not_found");
    given().when(close("r1")).refuses("report.not_found");
  });
});
