import { pushCount } from "../../../src/commands/user/push-count.ts";
import { ObjectId, ProjectId, UserId } from "../../../src/events/core/ids.ts";
import type { PushCountEvent } from "../../../src/events/user/push-count.ts";
import { specify } from "../../support/app/decider.ts";
import { at } from "../../support/app/history.ts";

const given = specify(pushCount);

const counted = (repositoryRevision: number) => ({
  projectId: ProjectId.parse("0b9f2d3a-6f0e-4c35-8a9e-0d1f2a3b4c5d"),
  userId: UserId.parse("9a8b7c6d-5e4f-4a3b-8c2d-1e0f9a8b7c6d"),
  repositoryRevision,
  commits: 1,
  extensions: { ts: 1 },
  tips: [ObjectId.parse("1".repeat(40))],
  replaces: [],
});
const event = (revision: number): PushCountEvent => ({
  type: "PushCounted",
  data: { ...counted(revision), countedAt: at },
});
const command = (revision: number) =>
  ({ type: "CountPush", counted: counted(revision), at }) as const;

describe("counting a push", () => {
  it("is recorded with how far it goes", () => {
    given().when(command(0)).gives(event(0));
    given(event(0)).when(command(3)).gives(event(3));
  });

  it("changes nothing when another process has counted that far", () => {
    given(event(3)).when(command(3)).givesNothing();
    given(event(0), event(3)).when(command(1)).givesNothing();
  });
});
