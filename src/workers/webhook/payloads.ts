import { issueCommentPayload } from "../issue/webhook-comment-payload.ts";
import { issuePayload } from "../issue/webhook-payload.ts";
import { discussionPayload } from "../merge-request/webhook-discussion-payload.ts";
import { mergeRequestPayload } from "../merge-request/webhook-payload.ts";
import type { PayloadBuilder } from "./payload.ts";
import { deliveryPayload } from "./payload-delivery.ts";
import { memberPayload } from "./payload-member.ts";
import { pipelinePayload } from "./payload-pipeline.ts";
import { repositoryPayload } from "./payload-repository.ts";

/** Everything webhooks can receive. No event type is in two of them. */
export const payloadBuilders: readonly PayloadBuilder[] = [
  deliveryPayload,
  discussionPayload,
  issueCommentPayload,
  issuePayload,
  memberPayload,
  mergeRequestPayload,
  pipelinePayload,
  repositoryPayload,
];
