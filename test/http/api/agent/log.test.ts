import { follow } from "../../../../src/http/api/agent/log.ts";
import { Refusal } from "../../../../src/platform/refusal.ts";
import { refused } from "../../../support/app/refused.ts";

describe("following the log of a job", () => {
  it("ends once the caller may not read it any more, before it is read", async () => {
    // No query is sent: without a database, any would fail.
    const deps = { now: () => new Date() } as Parameters<typeof follow>[0];
    const { signal } = new AbortController();
    const mustStillMay = async () => {
      throw new Refusal("forbidden", "auth.role_missing", "Not any more.");
    };
    const events = follow(deps, { jobId: "1", from: 0, signal, mustStillMay });
    await events.next();
    await refused(() => events.next(), "auth.role_missing");
  });
});
