import { environment } from "../../../src/commands/pipeline/environment.ts";
import { deterministicId } from "../../../src/platform/deterministic-id.ts";
import { projectId, userId } from "../../support/agent/pipeline.ts";
import { specify } from "../../support/app/decider.ts";
import { at } from "../../support/app/history.ts";

const given = specify(environment);
const fields = {
  environmentId: deterministicId("environment"),
  projectId,
  name: "review/search",
} as const;

describe("an environment", () => {
  const stop = { type: "StopEnvironment", ...fields, by: userId, at } as const;
  const remove = { type: "DeleteEnvironment", ...fields, by: userId, inUse: false, at } as const;

  it("is stopped unless it is", () => {
    const stopped = {
      type: "EnvironmentStopped",
      data: { ...fields, stoppedById: userId, stoppedAt: at },
    } as const;
    given()
      .when({ ...stop, state: "STOPPING" })
      .gives(stopped);
    given()
      .when({ ...stop, state: "STOPPED" })
      .givesNothing();
  });

  it("is deleted once it is stopped", () => {
    given()
      .when({ ...remove, state: "STOPPED" })
      .gives({
        type: "EnvironmentDeleted",
        data: { ...fields, deletedById: userId, deletedAt: at },
      });
    given()
      .when({ ...remove, state: "AVAILABLE" })
      .refuses("environment.not_stopped");
    given()
      .when({ ...remove, state: "STOPPED", inUse: true })
      .refuses("environment.in_use");
  });
});
