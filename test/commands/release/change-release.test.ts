import { randomUUID } from "node:crypto";

import {
  createRelease,
  deleteRelease,
  editRelease,
} from "../../../src/commands/release/change-release.ts";
import { ObjectId, ProjectId, ReleaseId, UserId } from "../../../src/events/core/ids.ts";
import { at, metadataFor } from "../../support/app/history.ts";
import { refused } from "../../support/app/refused.ts";
import { testEventStore } from "../../support/store/event-store.ts";

const { store } = await testEventStore();
const deps = { store, now: () => at };
const projectId = ProjectId.parse(randomUUID());
const commitId = ObjectId.parse("9fceb02d0ae598e95dc970b74767f19372d61af8");
const by = UserId.parse(randomUUID());

const changeOf = (id: string) => ({ id, metadata: metadataFor(randomUUID()) });
const detailsOf = (tagName: string) =>
  ({ title: "One", description: null, tagName, preRelease: false }) as const;

async function given(tagName: string): Promise<ReleaseId> {
  const releaseId = ReleaseId.parse(randomUUID());
  const about = { releaseId, projectId, commitId, ...detailsOf(tagName), by, at };
  await createRelease(deps, changeOf(releaseId), { type: "CreateRelease", ...about });
  return releaseId;
}

function edit(releaseId: ReleaseId, tagName: string) {
  const about = { projectId, commitId, details: detailsOf(tagName), by, at };
  return editRelease(deps, changeOf(releaseId), { type: "EditRelease", ...about });
}

describe("the tag of a release", () => {
  it("is of one release, and free again once that has another tag", async () => {
    const first = await given("v1");
    await refused(() => given("v1"), "release.tag_taken");
    await edit(first, "v2");
    await given("v1");
    await refused(() => given("v2"), "release.tag_taken");
  });

  it("is not taken by an edit of a release that is deleted or never was", async () => {
    const gone = await given("v3");
    const command = { type: "DeleteRelease", projectId, by, at } as const;
    await deleteRelease(deps, changeOf(gone), command);
    for (const releaseId of [gone, ReleaseId.parse(randomUUID())]) {
      await refused(() => edit(releaseId, "v4"), "release.not_found");
    }
    await given("v4");
    await given("v3");
  });
});
