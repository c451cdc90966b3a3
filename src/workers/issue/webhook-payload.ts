import type { Knex } from "knex";

import { issue } from "../../commands/issue/issue.ts";
import { decode } from "../../events/core/decode.ts";
import type { Recorded } from "../../events/core/event.ts";
import type { ProjectId } from "../../events/core/ids.ts";
import { idInStream } from "../../events/core/stream.ts";
import {
  type IssueDetails,
  type IssueEvent,
  issueEvents,
  issueStream,
} from "../../events/issue/issue.ts";
import { issueIdsOf } from "../../projections/issue/list.ts";
import { labelsById } from "../../projections/label/label.ts";
import { findUserById } from "../../projections/user/user.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";
import type { PayloadBuilder } from "../webhook/payload.ts";

/** ISSUE_CREATE and ISSUE_UPDATE, with the issue as it was after the event. */
export const issuePayload: PayloadBuilder = {
  types: new Set(["IssueCreated", "IssueEdited", "IssueClosedByCommit"]),
  streams: async (projectId: ProjectId, { db }) =>
    (await issueIdsOf(db, projectId)).map((id) => issueStream(id)),
  async build(recorded, deps) {
    const event = decode(issueEvents, recorded);
    return {
      projectId: event.data.projectId,
      topic: event.type === "IssueCreated" ? "ISSUE_CREATE" : "ISSUE_UPDATE",
      fields: () => fieldsOf(event, deps),
    };
  },
};

async function fieldsOf(event: Recorded<IssueEvent>, { store, db }: WorkerDeps) {
  let state = issue.initialState;
  for await (const recorded of store.readStream(event.stream)) {
    if (recorded.revision > event.revision) break;
    state = issue.evolve(state, decode(issueEvents, recorded));
  }
  if (state.status !== "created") return {};
  const userId = actorOf(event);
  const { title, description, status } = state.details;
  return {
    issue: {
      id: idInStream(event.stream),
      user_id: userId,
      user_alias: (await findUserById(db, userId))?.alias ?? "",
      title,
      description,
      status,
      labels: await titlesOf(db, state.details),
    },
  };
}

function actorOf({ type, data }: IssueEvent): string {
  if (type === "IssueCreated") return data.createdById;
  if (type === "IssueEdited") return data.editedById;
  if (type === "IssueClosingCommitFound") return data.pushedById;
  return type === "IssueDeleted" ? data.deletedById : data.closedById;
}

async function titlesOf(db: Knex, { labelIds }: IssueDetails): Promise<readonly string[]> {
  const labels = await labelsById(db, labelIds);
  return [...labels.values()].map(({ title }) => title).sort();
}
