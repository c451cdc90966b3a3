import { expect } from "chai";
import { auditText } from "../../src/cli/audit-text.ts";
import type { AuditLine } from "../../src/projections/audit/trail.ts";

const line: AuditLine = {
  position: 7n,
  occurredAt: new Date("2026-01-02T03:04:05.678Z"),
  actor: { userId: "u", alias: "anna", via: "token", tokenId: null },
  ip: "192.0.2.7",
  type: "ProjectRenamed",
  stream: "project-1",
  placeId: "1",
  eventId: "e",
  tokenName: null,
  subject: { kind: "PROJECT", id: "1", title: "Old" },
  correlationId: "c",
  causationId: null,
  changes: [{ field: "title", before: "Old", after: "New" }],
};

describe("a line of the audit trail", () => {
  it("says when, who, how, from where, and what changed", () => {
    expect(auditText(line)).to.equal(
      "2026-01-02T03:04:05.678Z  anna (token) from 192.0.2.7  " +
        "ProjectRenamed project-1  title: Old → New",
    );
  });

  it("names the system, and leaves out what is not known", () => {
    const actor = { userId: null, alias: null, via: "system", tokenId: null } as const;
    expect(auditText({ ...line, actor, ip: null, changes: [] })).to.equal(
      "2026-01-02T03:04:05.678Z  system  ProjectRenamed project-1",
    );
  });

  it("never lets a value command the terminal or break the line", () => {
    const changes = [{ field: "title", after: "a\x1b[2Jb\nc\u202ed" }];
    expect(auditText({ ...line, changes })).to.match(
      /title: a\\u\{1b\}\[2Jb\\u\{a\}c\\u\{202e\}d$/,
    );
  });

  it("cuts a value that would fill the screen", () => {
    const changes = [{ field: "title", after: "x".repeat(5_000) }];
    expect(auditText({ ...line, changes }).length).to.be.lessThan(400);
  });
});
