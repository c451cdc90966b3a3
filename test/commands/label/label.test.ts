import { label } from "../../../src/commands/label/label.ts";
import type { EventOf } from "../../../src/events/core/event.ts";
import { ProjectId, UserId } from "../../../src/events/core/ids.ts";
import { LabelId, type labelEvents } from "../../../src/events/label/label.ts";
import { specify } from "../../support/app/decider.ts";
import { at } from "../../support/app/history.ts";

type LabelEvent = EventOf<typeof labelEvents>;

const given = specify(label);
const labelId = LabelId.parse("4f0e1d2c-3b4a-4596-8877-665544332211");
const projectId = ProjectId.parse("9a8b7c6d-5e4f-4a3b-8c2d-1e0f9a8b7c6d");
const otherProject = ProjectId.parse("1a8b7c6d-5e4f-4a3b-8c2d-1e0f9a8b7c6d");
const by = UserId.parse("7d4f4c0e-7f55-4c6c-9a35-0d4bb5f2ab01");
const details = { title: "bug", description: null, hexColor: "#cf222e" };
const within = { projectId, by, at } as const;

const created: LabelEvent = {
  type: "LabelCreated",
  data: { labelId, projectId, ...details, createdById: by, createdAt: at },
};
const deleted: LabelEvent = {
  type: "LabelDeleted",
  data: { title: "bug", deletedById: by, deletedAt: at },
};

describe("creating a label", () => {
  const create = { type: "CreateLabel", labelId, details, ...within } as const;

  it("records it, once", () => {
    given().when(create).gives(created);
    given(created).when(create).refuses("label.exists");
    given(created, deleted).when(create).refuses("label.exists");
  });
});

describe("editing a label", () => {
  const changed = { ...details, title: "defect" };
  const edit = { type: "EditLabel", details: changed, ...within } as const;
  const edited: LabelEvent = {
    type: "LabelEdited",
    data: { details: changed, previousDetails: details, editedById: by, editedAt: at },
  };

  it("records what it was and what it became", () => {
    given(created).when(edit).gives(edited);
  });

  it("records nothing when nothing changes", () => {
    given(created, edited).when(edit).givesNothing();
  });

  it("takes every field of the details, also one that is optional", () => {
    const pinned = { ...details, isPinned: true };
    const plain = { ...details, isPinned: false };
    const withDetails = (of: object) => ({ ...created, data: { ...created.data, ...of } }) as never;
    given(withDetails(pinned))
      .when({ ...edit, details: plain })
      .gives({ ...edited, data: { ...edited.data, details: plain, previousDetails: pinned } });
    given(created)
      .when({ ...edit, details: plain })
      .givesNothing();
  });

  it("refuses a label that is absent, deleted or of another project", () => {
    given().when(edit).refuses("label.not_found");
    given(created, deleted).when(edit).refuses("label.not_found");
    given(created)
      .when({ ...edit, projectId: otherProject })
      .refuses("label.not_found");
  });
});

describe("deleting a label", () => {
  const remove = { type: "DeleteLabel", ...within } as const;

  it("records the title, once", () => {
    given(created).when(remove).gives(deleted);
    given(created, deleted).when(remove).givesNothing();
  });

  it("refuses a label that is absent or of another project", () => {
    given().when(remove).refuses("label.not_found");
    given(created)
      .when({ ...remove, projectId: otherProject })
      .refuses("label.not_found");
    given(created, deleted)
      .when({ ...remove, projectId: otherProject })
      .refuses("label.not_found");
  });
});
