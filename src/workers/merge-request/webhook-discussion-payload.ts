import { decode } from "../../events/core/decode.ts";
import { idInStream } from "../../events/core/stream.ts";
import {
  type DiscussionLine,
  discussionEvents,
  discussionStream,
} from "../../events/merge-request/discussion.ts";
import { discussionIdsOf } from "../../projections/merge-request/discussion.ts";
import { findUserById } from "../../projections/user/user.ts";
import type { WorkerDeps } from "../core/deps.ts";
import type { PayloadBuilder } from "../webhook/payload.ts";
import { requestOf } from "./webhook-payload.ts";

/** DISCUSSION_CREATE for a first note, DISCUSSION_COMMENT_CREATE for a reply. */
export const discussionPayload: PayloadBuilder = {
  types: new Set(["DiscussionStarted", "DiscussionReplied"]),
  streams: async (projectId, { db }) =>
    (await discussionIdsOf(db, projectId)).map((id) => discussionStream(id)),
  async build(recorded, deps) {
    const { type, data } = decode(discussionEvents, recorded);
    if (type === "DiscussionStarted") {
      const { discussionId: id, message, startedById: userId, line } = data;
      const ref = { mergeRequestId: data.mergeRequestId, position: recorded.position };
      const note = { id, rootId: null, message, userId, line };
      return {
        projectId: data.projectId,
        topic: "DISCUSSION_CREATE",
        fields: () => fieldsOf(note, ref, deps),
      };
    }
    if (type !== "DiscussionReplied") return undefined;
    const { noteId: id, message, repliedById: userId } = data;
    const ref = { mergeRequestId: data.mergeRequestId, position: recorded.position };
    const note = { id, rootId: idInStream(recorded.stream), message, userId, line: null };
    return {
      projectId: data.projectId,
      topic: "DISCUSSION_COMMENT_CREATE",
      fields: () => fieldsOf(note, ref, deps),
    };
  },
};

type Note = Readonly<{
  id: string;
  rootId: string | null;
  message: string;
  userId: string;
  line: DiscussionLine | null;
}>;

async function fieldsOf(
  { id, rootId, message, userId, line }: Note,
  { mergeRequestId, position }: Readonly<{ mergeRequestId: string; position: bigint }>,
  deps: WorkerDeps,
) {
  return {
    discussion: {
      id,
      root_id: rootId,
      message,
      user_id: userId,
      user_alias: (await findUserById(deps.db, userId))?.alias ?? null,
      new_line: line?.newLine ?? null,
      old_line: line?.oldLine ?? null,
      new_path: line?.newPath ?? null,
      old_path: line?.oldPath ?? null,
    },
    merge_request: await requestOf(mergeRequestId, position, deps),
  };
}
