import { project } from "../../src/commands/project.ts";
import { Alias, ProjectId, UserId } from "../../src/events/ids.ts";
import type { ProjectEvent } from "../../src/events/project.ts";
import { specify } from "../support/decider.ts";
import { at } from "../support/history.ts";

const given = specify(project.decider);
const by = UserId.parse("0b9f2d3a-6f0e-4c35-8a9e-0d1f2a3b4c5d");

const facts = {
  projectId: ProjectId.parse("7d1c2b3a-4f5e-4d6c-9b8a-1a2b3c4d5e6f"),
  ownerId: by,
  ownerType: "USER",
  alias: Alias.parse("search"),
  title: "Search",
  description: null,
  language: null,
  private: true,
  defaultBranch: "main",
} as const;
const created: ProjectEvent = {
  type: "ProjectCreated",
  data: { ...facts, createdById: by, createdAt: at },
};
const changed = (branch: string, previousBranch: string): ProjectEvent => ({
  type: "ProjectDefaultBranchChanged",
  data: { branch, previousBranch, changedAt: at },
});

describe("creating a project", () => {
  it("records what it is and who made it", () => {
    given()
      .when({ type: "CreateProject", ...facts, by, at })
      .gives(created);
  });

  it("is refused a second time", () => {
    given(created)
      .when({ type: "CreateProject", ...facts, by, at })
      .refuses("project.exists");
  });
});

describe("changing the default branch", () => {
  const toTrunk = { type: "ChangeDefaultBranch", branch: "trunk", at } as const;

  it("records the branch before and after", () => {
    given(created).when(toTrunk).gives(changed("trunk", "main"));
    given(created, changed("dev", "main")).when(toTrunk).gives(changed("trunk", "dev"));
  });

  it("does nothing when it is the default already", () => {
    given(created, changed("trunk", "main")).when(toTrunk).givesNothing();
  });

  it("is refused without a project", () => {
    given().when(toTrunk).refuses("project.not_found");
  });
});
