import { project } from "../../../src/commands/project/project.ts";
import { Alias, ProjectId, UserId } from "../../../src/events/core/ids.ts";
import type { ProjectEvent } from "../../../src/events/project/project.ts";
import { specify } from "../../support/app/decider.ts";
import { at } from "../../support/app/history.ts";

const given = specify(project);
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

const tools = "9a8b7c6d-5e4f-4a3b-8c2d-1e0f9a8b7c6d";
const deleted: ProjectEvent = { type: "ProjectDeleted", data: { deletedById: by, deletedAt: at } };
const restored: ProjectEvent = {
  type: "ProjectRestored",
  data: { restoredById: by, restoredAt: at },
};
const transferred: ProjectEvent = {
  type: "ProjectTransferred",
  data: {
    ownerId: tools,
    ownerType: "TEAM",
    previousOwnerId: by,
    previousOwnerType: "USER",
    transferredById: by,
    transferredAt: at,
  },
};
const renamed: ProjectEvent = {
  type: "ProjectAliasChanged",
  data: {
    alias: Alias.parse("finder"),
    previousAlias: facts.alias,
    changedById: by,
    changedAt: at,
  },
};

describe("changing what a project says about itself", () => {
  const before = {
    title: "Search",
    description: null,
    language: null,
    topics: [],
    siteUrl: null,
  };
  const changing = (details: object) =>
    ({ type: "ChangeProjectDetails", details, by, at }) as const;
  const changedTo = (details: typeof before): ProjectEvent => ({
    type: "ProjectDetailsChanged",
    data: { details, previous: before, changedById: by, changedAt: at },
  });

  it("records it before and after, and keeps what was not given", () => {
    const after = { ...before, topics: ["index"] as never[], language: "Go" as never };
    const change = changing({ language: "Go", topics: ["index"] });
    given(created).when(change).gives(changedTo(after));
    given(created, changedTo(after)).when(change).givesNothing();
    given(created).when(changing({})).givesNothing();
  });

  it("is refused without a project, and while it is deleted", () => {
    given().when(changing({})).refuses("project.not_found");
    given(created, deleted).when(changing({})).refuses("project.not_found");
  });
});

describe("changing a project's visibility", () => {
  it("records it before and after, once", () => {
    const open = { type: "ChangeProjectVisibility", private: false, by, at } as const;
    const opened: ProjectEvent = {
      type: "ProjectVisibilityChanged",
      data: { private: false, previous: true, changedById: by, changedAt: at },
    };
    given(created).when(open).gives(opened);
    given(created, opened).when(open).givesNothing();
  });
});

describe("changing a project's alias", () => {
  const rename = {
    type: "ChangeProjectAlias",
    alias: Alias.parse("finder"),
    ownerId: by,
    by,
    at,
  } as const;

  it("records both aliases, once", () => {
    given(created).when(rename).gives(renamed);
    given(created, renamed).when(rename).givesNothing();
  });

  it("is refused when the project went to another owner meanwhile", () => {
    given(created, transferred).when(rename).refuses("project.changed");
  });
});

describe("transferring a project", () => {
  const transfer = {
    type: "TransferProject",
    ownerId: tools,
    ownerType: "TEAM",
    alias: facts.alias,
    by,
    at,
  } as const;

  it("records the owner before and after, once", () => {
    given(created).when(transfer).gives(transferred);
    given(created, transferred).when(transfer).givesNothing();
  });

  it("is refused when its owner has changed since the offer", () => {
    given(created)
      .when({ ...transfer, fromOwnerId: tools })
      .refuses("project.changed");
    given(created)
      .when({ ...transfer, fromOwnerId: facts.ownerId })
      .gives(transferred);
  });

  it("is refused when the alias was changed meanwhile", () => {
    given(created, renamed).when(transfer).refuses("project.changed");
  });
});

describe("deleting and restoring a project", () => {
  const remove = { type: "DeleteProject", by, at } as const;
  const restore = { type: "RestoreProject", by, at } as const;

  it("is recorded once each", () => {
    given(created).when(remove).gives(deleted);
    given(created, deleted).when(remove).givesNothing();
    given(created, deleted).when(restore).gives(restored);
    given(created, deleted, restored).when(restore).givesNothing();
    given(created, deleted, restored).when(remove).gives(deleted);
  });

  it("is refused without a project", () => {
    given().when(remove).refuses("project.not_found");
    given().when(restore).refuses("project.not_found");
  });

  it("lets a push under way set the default branch", () => {
    given(created, deleted)
      .when({ type: "ChangeDefaultBranch", branch: "trunk", at })
      .gives(changed("trunk", "main"));
  });
});

describe("purging a deleted project", () => {
  const { projectId } = facts;
  const deletedBefore = new Date(Date.parse(at) + 1).toISOString();
  const purge = { type: "PurgeProject", projectId, deletedBefore, at } as const;
  const purged = { type: "ProjectPurged", data: { projectId, purgedAt: at } } as const;
  const restore = { type: "RestoreProject", by, at } as const;

  it("is recorded once, when its time is over", () => {
    given(created, deleted).when(purge).gives(purged);
    given(created, deleted, purged).when(purge).givesNothing();
    given(created, deleted)
      .when({ ...purge, deletedBefore: at })
      .givesNothing();
  });

  it("does nothing to one that is there, was restored, or never was", () => {
    given(created).when(purge).givesNothing();
    given(created, deleted, restored).when(purge).givesNothing();
    given().when(purge).givesNothing();
  });

  it("is the end of it", () => {
    given(created, deleted, purged).when(restore).refuses("project.not_found");
    given(created, deleted, purged)
      .when({ type: "ChangeDefaultBranch", branch: "trunk", at })
      .refuses("project.not_found");
  });
});

describe("changing how large a project may be", () => {
  const order = (allowedBytes: number | null) =>
    ({ type: "ChangeProjectQuota", allowedBytes, by, at }) as const;
  const changedTo = (allowedBytes: number | null, previous: number | null) =>
    ({
      type: "ProjectQuotaChanged",
      data: { allowedBytes, previous, changedById: by, changedAt: at },
    }) as const;

  it("records the limit before and after, once", () => {
    given(created).when(order(5)).gives(changedTo(5, null));
    given(created, changedTo(5, null)).when(order(5)).givesNothing();
    given(created, changedTo(5, null)).when(order(null)).gives(changedTo(null, 5));
  });

  it("is refused without a project", () => {
    given(created, deleted).when(order(5)).refuses("project.not_found");
  });
});
