import { mirror } from "../../../src/commands/project/mirror.ts";
import { ProjectId, UserId } from "../../../src/events/core/ids.ts";
import type { MirrorEvent, MirrorTarget } from "../../../src/events/project/mirror.ts";
import { specify } from "../../support/app/decider.ts";
import { at } from "../../support/app/history.ts";

const given = specify(mirror);
const projectId = ProjectId.parse("7d1c2b3a-4f5e-4d6c-9b8a-1a2b3c4d5e6f");
const by = UserId.parse("0b9f2d3a-6f0e-4c35-8a9e-0d1f2a3b4c5d");
const [mirrorId, later] = [
  "51a7f8de-0c7b-4f0b-9a0e-6b2f4d9e7a11",
  "d2b1a0f9-4e5d-4c3b-8a29-1807f6e5d4c3",
];
const target: MirrorTarget = {
  type: "PULL",
  url: "https://git.example.org/a.git",
  credentials: null,
};
const elsewhere: MirrorTarget = { ...target, type: "PUSH", url: "https://git.example.org/b.git" };

const configured = (id = mirrorId, over: Partial<MirrorEvent["data"]> = {}): MirrorEvent =>
  ({
    type: "MirrorConfigured",
    data: {
      mirrorId: id,
      projectId,
      target,
      previous: null,
      configuredById: by,
      configuredAt: at,
      ...over,
    },
  }) as MirrorEvent;
const failed = (code: string): MirrorEvent => ({
  type: "MirrorFailed",
  data: { mirrorId, projectId, code, reason: "Why.", failedAt: at },
});
const recovered: MirrorEvent = {
  type: "MirrorRecovered",
  data: { mirrorId, projectId, recoveredAt: at },
};
const removed: MirrorEvent = {
  type: "MirrorRemoved",
  data: { mirrorId, projectId, target, removedById: by, removedAt: at },
};
const failure = (code: string, id = mirrorId) =>
  ({ type: "RecordMirrorFailure", mirrorId: id, code, reason: "Why.", at }) as const;
const success = { type: "RecordMirrorSuccess", mirrorId, at } as const;

describe("making a project a mirror", () => {
  it("records what it mirrors, and what it mirrored before", () => {
    given()
      .when({ type: "ConfigureMirror", projectId, mirrorId, target, by, at })
      .gives(configured());
    given(configured())
      .when({ type: "ConfigureMirror", projectId, mirrorId: later, target: elsewhere, by, at })
      .gives(configured(later, { target: elsewhere, previous: target }));
  });

  it("is ended once", () => {
    given(configured()).when({ type: "RemoveMirror", by, at }).gives(removed);
    given(configured(), removed).when({ type: "RemoveMirror", by, at }).refuses("mirror.not_found");
  });

  it("is synced on demand while it is one", () => {
    const order = { type: "RequestMirrorSync", by, at } as const;
    const requested = { mirrorId, projectId, requestedById: by, requestedAt: at };
    given(configured()).when(order).gives({ type: "MirrorSyncRequested", data: requested });
    given().when(order).refuses("mirror.not_found");
  });
});

describe("what came of syncing a mirror", () => {
  it("is recorded when it breaks, when the reason changes, and when it works again", () => {
    given(configured()).when(failure("remote.failed")).gives(failed("remote.failed"));
    given(configured(), failed("remote.failed")).when(failure("remote.failed")).givesNothing();
    given(configured(), failed("remote.failed"))
      .when(failure("remote.not_found"))
      .gives(failed("remote.not_found"));
    given(configured(), failed("remote.failed")).when(success).gives(recovered);
    given(configured(), failed("remote.failed"), recovered).when(success).givesNothing();
    given(configured()).when(success).givesNothing();
  });

  it("is nobody's business under another configuration, or none", () => {
    given(configured(later)).when(failure("remote.failed")).givesNothing();
    given(configured(), failed("remote.failed"), removed).when(success).givesNothing();
    given(configured(), failed("remote.failed"), configured(later)).when(success).givesNothing();
    given().when(failure("remote.failed")).givesNothing();
  });
});
