import { expect } from "chai";

import { type AttemptRecord, webhookDelivery } from "../../../src/commands/webhook/delivery.ts";
import { ProjectId, WebhookDeliveryId, WebhookId } from "../../../src/events/core/ids.ts";
import { Sealed } from "../../../src/events/core/sealed.ts";
import type { WebhookDeliveryEvent } from "../../../src/events/webhook/delivery.ts";
import { specify } from "../../support/app/decider.ts";
import { at } from "../../support/app/history.ts";

const given = specify(webhookDelivery);
const deliveryId = WebhookDeliveryId.parse("c1d2e3f4-a5b6-4c7d-8e9f-0a1b2c3d4e5f");
const whose = {
  webhookId: WebhookId.parse("5a6b7c8d-9e0f-4a1b-8c2d-3e4f5a6b7c8d"),
  projectId: ProjectId.parse("7d1c2b3a-4f5e-4d6c-9b8a-1a2b3c4d5e6f"),
  action: "BRANCH_UPDATE",
} as const;
const body = Sealed.parse("sealed.project-1.AAAA");
const response = Sealed.parse("sealed.project-1.BBBB");

const schedule = {
  type: "ScheduleDelivery",
  deliveryId,
  ...whose,
  body,
  redeliveryOf: null,
  at,
} as const;
const scheduled: WebhookDeliveryEvent = {
  type: "WebhookDeliveryScheduled",
  data: { deliveryId, ...whose, body, redeliveryOf: null, scheduledAt: at },
};

const times = {
  url: "https://hooks.example.com/",
  startedAt: at,
  connectMs: 1,
  firstByteMs: 2,
  totalMs: 3,
};
const answered = (status: number, rest: Partial<AttemptRecord> = {}) =>
  ({
    type: "RecordAttempt",
    attempt: 1,
    ...times,
    status,
    response,
    failure: null,
    retryAfterMs: null,
    jitter: 0,
    at,
    ...rest,
  }) as const;
const succeeded = (attempt: number, status = 200): WebhookDeliveryEvent => ({
  type: "WebhookDeliverySucceeded",
  data: { ...whose, ...times, attempt, status, response },
});
const failed = (
  attempt: number,
  nextAttemptAt: string | null,
  rest: Partial<
    Extract<WebhookDeliveryEvent, { type: "WebhookDeliveryAttemptFailed" }>["data"]
  > = {},
): WebhookDeliveryEvent => ({
  type: "WebhookDeliveryAttemptFailed",
  data: {
    ...whose,
    ...times,
    attempt,
    status: 500,
    response,
    failure: "status",
    nextAttemptAt,
    ...rest,
  },
});
const abandoned: WebhookDeliveryEvent = {
  type: "WebhookDeliveryAbandoned",
  data: { ...whose, reason: "webhook_deleted", abandonedAt: at },
};
const fiveSecondsLater = "2026-01-02T03:04:10.678Z";

describe("scheduling a delivery", () => {
  it("records what is sent to whom", () => {
    given().when(schedule).gives(scheduled);
  });

  it("does nothing the second time", () => {
    given(scheduled).when(schedule).givesNothing();
    given(scheduled, succeeded(1)).when(schedule).givesNothing();
  });
});

describe("recording an attempt", () => {
  for (const status of [200, 201, 204, 299]) {
    it(`succeeds with ${status}`, () => {
      given(scheduled).when(answered(status)).gives(succeeded(1, status));
    });
  }

  for (const status of [100, 199, 300, 302, 307, 400, 404, 429, 500, 503]) {
    it(`fails with ${status}, to be tried again in 5 s`, () => {
      given(scheduled)
        .when(answered(status))
        .gives(failed(1, fiveSecondsLater, { status }));
    });
  }

  it("fails for good with 410", () => {
    given(scheduled)
      .when(answered(410))
      .gives(failed(1, null, { status: 410 }));
  });

  it("says why there was no answer", () => {
    const unanswered = { status: null, response: null };
    given(scheduled)
      .when({ ...answered(0), ...unanswered, failure: "timeout" })
      .gives(failed(1, fiveSecondsLater, { ...unanswered, failure: "timeout" }));
  });

  it("fails for good after the eighth attempt", () => {
    const seven = Array.from({ length: 7 }, (_, index) => failed(index + 1, fiveSecondsLater));
    given(scheduled, ...seven)
      .when(answered(500, { attempt: 8 }))
      .gives(failed(8, null));
    given(scheduled, ...seven)
      .when(answered(200, { attempt: 8 }))
      .gives(succeeded(8));
  });

  it("is recorded once, however often it was sent", () => {
    given(scheduled, failed(1, fiveSecondsLater)).when(answered(200)).givesNothing();
    given(scheduled, succeeded(1)).when(answered(200)).givesNothing();
    given(scheduled, succeeded(1))
      .when(answered(200, { attempt: 2 }))
      .givesNothing();
    given(scheduled, failed(1, null))
      .when(answered(200, { attempt: 2 }))
      .givesNothing();
  });

  it("does not skip an attempt", () => {
    given(scheduled)
      .when(answered(200, { attempt: 2 }))
      .givesNothing();
  });

  it("is a mistake of ours without a delivery", () => {
    expect(() => given().when(answered(200)).givesNothing()).to.throw("Invariant");
  });
});

describe("abandoning a delivery", () => {
  const abandon = { type: "AbandonDelivery", reason: "webhook_deleted", at } as const;

  it("records why, also between attempts", () => {
    given(scheduled).when(abandon).gives(abandoned);
    given(scheduled, failed(1, fiveSecondsLater)).when(abandon).gives(abandoned);
  });

  it("does nothing once it is over", () => {
    given(scheduled, succeeded(1)).when(abandon).givesNothing();
    given(scheduled, failed(1, null)).when(abandon).givesNothing();
    given(scheduled, abandoned).when(abandon).givesNothing();
    given().when(abandon).givesNothing();
  });
});
