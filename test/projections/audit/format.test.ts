import { expect } from "chai";

import { auditCsv } from "../../../src/projections/audit/format.ts";
import type { AuditLine } from "../../../src/projections/audit/trail.ts";

const line: AuditLine = {
  position: 1n,
  eventId: "00000000-0000-4000-8000-000000000001",
  type: "LabelCreated",
  occurredAt: new Date(0),
  actor: { userId: null, alias: null, via: "system", tokenId: null },
  tokenName: null,
  ip: null,
  stream: "label-1",
  placeId: null,
  subject: { kind: "LABEL", id: "1", title: null },
  changes: [],
  correlationId: "c",
  causationId: null,
};

describe("an entry as a line of CSV", () => {
  for (const formula of [
    "=1",
    "+1",
    "-1",
    "@A1",
    "\t=1",
    "\r=1",
    "\n=1",
    "＝1",
    "＋1",
    "－1",
    "＠A1",
  ])
    it(`keeps ${JSON.stringify(formula)} a text, wherever it stands`, () => {
      const cells = auditCsv({
        ...line,
        tokenName: formula,
        subject: { ...line.subject, title: formula },
        correlationId: formula,
      });
      expect(cells.split(`'${formula}`)).to.have.length(4);
    });
});
