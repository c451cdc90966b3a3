import { expect } from "chai";

import { webhook } from "../../../src/commands/webhook/webhook.ts";
import { ProjectId, UserId, WebhookId } from "../../../src/events/core/ids.ts";
import { Sealed } from "../../../src/events/core/sealed.ts";
import type { WebhookEvent } from "../../../src/events/webhook/webhook.ts";
import { specify } from "../../support/app/decider.ts";
import { at } from "../../support/app/history.ts";

const given = specify(webhook);
const by = UserId.parse("0b9f2d3a-6f0e-4c35-8a9e-0d1f2a3b4c5d");
const projectId = ProjectId.parse("7d1c2b3a-4f5e-4d6c-9b8a-1a2b3c4d5e6f");
const otherProjectId = ProjectId.parse("8d1c2b3a-4f5e-4d6c-9b8a-1a2b3c4d5e6f");
const webhookId = WebhookId.parse("5a6b7c8d-9e0f-4a1b-8c2d-3e4f5a6b7c8d");
const secret = Sealed.parse("sealed.project-1.AAAA");
const otherSecret = Sealed.parse("sealed.project-1.BBBB");
const url = "https://hooks.example.com/";

const create = {
  type: "CreateWebhook",
  webhookId,
  projectId,
  url,
  secret,
  topics: ["TAG_CREATE", "BRANCH_CREATE", "TAG_CREATE"],
  by,
  at,
} as const;
const created: WebhookEvent = {
  type: "WebhookCreated",
  data: {
    webhookId,
    projectId,
    url,
    secret,
    topics: ["BRANCH_CREATE", "TAG_CREATE"],
    createdById: by,
    createdAt: at,
  },
};
const deleted: WebhookEvent = { type: "WebhookDeleted", data: { deletedById: by, deletedAt: at } };
const switchedOff: WebhookEvent = {
  type: "WebhookSwitchedOff",
  data: { failingSince: "2025-12-28T00:00:00.000Z", switchedOffAt: at },
};
const switchedOn: WebhookEvent = {
  type: "WebhookSwitchedOn",
  data: { switchedOnById: by, switchedOnAt: at },
};
const reconfigured = (
  settings: Partial<Extract<WebhookEvent, { type: "WebhookReconfigured" }>["data"]>,
): WebhookEvent => ({
  type: "WebhookReconfigured",
  data: {
    url,
    secret,
    topics: ["BRANCH_CREATE", "TAG_CREATE"],
    reconfiguredById: by,
    reconfiguredAt: at,
    ...settings,
  },
});

describe("creating a webhook", () => {
  it("records its settings, each topic once", () => {
    given().when(create).gives(created);
  });

  it("is refused a second time, also after it was deleted", () => {
    given(created).when(create).refuses("webhook.exists");
    given(created, deleted).when(create).refuses("webhook.exists");
  });
});

describe("reconfiguring a webhook", () => {
  const reconfigure = { type: "ReconfigureWebhook", projectId, by, at } as const;

  it("records the new settings", () => {
    given(created)
      .when({ ...reconfigure, url: "https://b.example/", secret: otherSecret, topics: ["MERGE"] })
      .gives(reconfigured({ url: "https://b.example/", secret: otherSecret, topics: ["MERGE"] }));
  });

  it("keeps fields that are left out, and removes a secret that is null", () => {
    given(created).when(reconfigure).gives(reconfigured({}));
    given(created)
      .when({ ...reconfigure, secret: null })
      .gives(reconfigured({ secret: null }));
    given(created, reconfigured({ topics: ["MERGE"] }))
      .when(reconfigure)
      .gives(reconfigured({ topics: ["MERGE"] }));
  });

  it("switches on what was switched off", () => {
    given(created, switchedOff).when(reconfigure).gives(reconfigured({}), switchedOn);
    given(created, switchedOff, switchedOn).when(reconfigure).gives(reconfigured({}));
  });

  it("is refused for another project's, an unknown and a deleted one", () => {
    given(created)
      .when({ ...reconfigure, projectId: otherProjectId })
      .refuses("webhook.not_found");
    given().when(reconfigure).refuses("webhook.not_found");
    given(created, deleted).when(reconfigure).refuses("webhook.not_found");
  });
});

describe("deleting a webhook", () => {
  const remove = { type: "DeleteWebhook", projectId, by, at } as const;

  it("records who did it", () => {
    given(created).when(remove).gives(deleted);
  });

  it("does nothing the second time", () => {
    given(created, deleted).when(remove).givesNothing();
  });

  it("is refused for another project's and an unknown one", () => {
    given(created)
      .when({ ...remove, projectId: otherProjectId })
      .refuses("webhook.not_found");
    given().when(remove).refuses("webhook.not_found");
  });
});

describe("switching off a failing webhook", () => {
  const switchOff = {
    type: "SwitchOffWebhook",
    failingSince: "2025-12-28T00:00:00.000Z",
    at,
  } as const;

  it("records since when it has failed", () => {
    given(created).when(switchOff).gives(switchedOff);
    given(created, switchedOff, switchedOn).when(switchOff).gives(switchedOff);
  });

  it("does nothing when it is off, gone or unknown", () => {
    given(created, switchedOff).when(switchOff).givesNothing();
    given(created, deleted).when(switchOff).givesNothing();
    given().when(switchOff).givesNothing();
  });
});

describe("asking for a replay", () => {
  const replay = {
    type: "RequestReplay",
    projectId,
    replayId: "c1d2e3f4-a5b6-4c7d-8e9f-0a1b2c3d4e5f",
    from: "2026-01-01T00:00:00.000Z",
    to: at,
    by,
    at,
  } as const;

  it("is about the requested topics, else about those subscribed to", () => {
    for (const [topics, expected] of [
      [["MERGE"], ["MERGE"]],
      [undefined, ["BRANCH_CREATE", "TAG_CREATE"]],
    ] as const) {
      const [event] = webhook.decide(
        webhook.evolve(webhook.initialState, created),
        topics === undefined ? replay : { ...replay, topics },
      );
      expect(event?.data).to.deep.include({ topics: expected, from: replay.from, to: at });
    }
  });

  it("is refused where it would send nothing", () => {
    const unsubscribed = reconfigured({ topics: [] });
    given(created, unsubscribed).when(replay).refuses("webhook_replay.no_events");
    given(created)
      .when({ ...replay, topics: [] })
      .refuses("webhook_replay.no_events");
  });

  it("is refused the eleventh time within an hour, and allowed after it", () => {
    const times = Array.from({ length: 10 }, (_, n): WebhookEvent => {
      const requestedAt = new Date(Date.parse(at) + n * 60_000).toISOString();
      const data = { replayId: replay.replayId, from: replay.from, to: at, topics: [] };
      return { type: "WebhookReplayRequested", data: { ...data, requestedById: by, requestedAt } };
    });
    const state = [created, ...times].reduce(webhook.evolve, webhook.initialState);
    const after = (ms: number) => new Date(Date.parse(at) + ms).toISOString();
    const call = (ms: number) => webhook.decide(state, { ...replay, at: after(ms) });
    expect(() => call(3_599_000)).to.throw("at most 10 times an hour");
    expect(call(3_600_000)).to.have.length(1);
  });

  it("is refused for another project's webhook", () => {
    given(created)
      .when({ ...replay, projectId: otherProjectId })
      .refuses("webhook.not_found");
  });
});

describe("a replay", () => {
  const replayId = "c1d2e3f4-a5b6-4c7d-8e9f-0a1b2c3d4e5f";
  const requested: WebhookEvent = {
    type: "WebhookReplayRequested",
    data: { replayId, from: at, to: at, topics: [], requestedById: by, requestedAt: at },
  };
  const started: WebhookEvent = {
    type: "WebhookReplayStarted",
    data: { replayId, total: 3, startedAt: at },
  };
  const finished: WebhookEvent = {
    type: "WebhookReplayFinished",
    data: { replayId, outcome: "scheduled", finishedAt: at },
  };
  const canceled: WebhookEvent = {
    type: "WebhookReplayCanceled",
    data: { replayId, canceledById: by, canceledAt: at },
  };
  const start = { type: "StartReplay", replayId, total: 3, at } as const;
  const finish = { type: "FinishReplay", replayId, outcome: "scheduled", at } as const;
  const cancel = { type: "CancelReplay", projectId, replayId, by, at } as const;

  it("starts and finishes once, however often its job runs", () => {
    given(created, requested).when(start).gives(started);
    given(created, requested, started).when(start).givesNothing();
    given(created, requested, started).when(finish).gives(finished);
    given(created, requested, started, finished).when(finish).givesNothing();
    given(created, requested, canceled).when(start).givesNothing();
    given(created, requested, started, canceled).when(finish).givesNothing();
    given(created, requested, started, deleted).when(finish).givesNothing();
  });

  it("is canceled once, also when all of it is in line", () => {
    for (const past of [[requested], [requested, started], [requested, started, finished]]) {
      given(created, ...past)
        .when(cancel)
        .gives(canceled);
    }
    given(created, requested, canceled).when(cancel).givesNothing();
  });

  it("is refused to be canceled when it is another webhook's or project's", () => {
    given(created).when(cancel).refuses("webhook_replay.not_found");
    given(created, requested)
      .when({ ...cancel, projectId: otherProjectId })
      .refuses("webhook.not_found");
  });
});
