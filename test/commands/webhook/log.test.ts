import { webhookLog } from "../../../src/commands/webhook/log.ts";
import type { WebhookLogEvent } from "../../../src/events/webhook/log.ts";
import { specify } from "../../support/app/decider.ts";
import { at } from "../../support/app/history.ts";

const given = specify(webhookLog);
const [first, second] = ["2026-01-01T00:00:00.000Z", "2026-01-02T00:00:00.000Z"];
const purge = (endedBefore: string) => ({ type: "PurgeWebhookLog", endedBefore, at }) as const;
const purged = (endedBefore: string): WebhookLogEvent => ({
  type: "WebhookLogPurged",
  data: { endedBefore, purgedAt: at },
});

describe("the log of deliveries", () => {
  it("is purged, and later again", () => {
    given().when(purge(first)).gives(purged(first));
    given(purged(first)).when(purge(second)).gives(purged(second));
  });

  it("is not purged where nothing is left", () => {
    given(purged(second)).when(purge(second)).givesNothing();
    given(purged(second)).when(purge(first)).givesNothing();
  });
});
