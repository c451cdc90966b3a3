import { decode } from "../../events/core/decode.ts";
import { idInStream } from "../../events/core/stream.ts";
import {
  type DiscussionLine,
  discussionEvents,
  discussionStream,
} from "../../events/merge-request/discussion.ts";
import { discussionIdsOf } from "../../projections/merge-request/discussion.ts";
import { findUserById } from "../../projections/user/user.ts";
import type { WorkerDeps } from "../../services/core/deps.ts";
import type { PayloadBuilder } from "../webhook/payload.ts";
import { requestOf } from "./webhook-payload.ts";

/** DISCUSSION_CREATE for a first note, DISCUSSION_COMMENT_CREATE for a reply. */
export const discussionPayload: PayloadBuilder = {
  types: new Set(["DiscussionStarted", "DiscussionReplied"]),
  streams: async (projectId, { db }) =>
    (await discussionIdsOf(db, projectId)).map((id) => discussionStream(id)),
  async build(recorded, deps) {
    const { type, data } = decode(discussionEvents, recorded);
    if (type !== "DiscussionStarted" && type !== "DiscussionReplied") return undefined;
    const { projectId, mergeRequestId, message } = data;
    const rootId = idInStream(recorded.stream);
    const note =
      type === "DiscussionStarted"
        ? { id: data.discussionId, rootId: null, userId: data.startedById, line: data.line }
        : { id: data.noteId, rootId, userId: data.repliedById, line: null };
    const ref = { mergeRequestId, position: recorded.position };
    return {
      projectId,
      topic: type === "DiscussionStarted" ? "DISCUSSION_CREATE" : "DISCUSSION_COMMENT_CREATE",
      fields: () => fieldsOf({ ...note, message }, ref, deps),
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
