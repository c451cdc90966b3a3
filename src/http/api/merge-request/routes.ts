import type { Route } from "../../core/route.ts";
import { approvalRoutes } from "./approval-rule.ts";
import { approveRoutes } from "./approve.ts";
import { mergeRequestChangeRoutes } from "./change.ts";
import { mergeRequestContentRoutes } from "./changes.ts";
import { createMergeRequest } from "./create.ts";
import { discussionRoutes } from "./discussion.ts";
import { mergeRoutes } from "./merge.ts";
import { getMergeRequestPipelines, postMergeRequestPipeline } from "./pipelines.ts";
import { getMergeRequest, getMergeRequests } from "./read.ts";
import { getMergeRequestReferences } from "./reference.ts";
import { renewRoutes } from "./renew.ts";
import { mergeSettingRoutes } from "./setting.ts";

export const mergeRequestSectionRoutes: readonly Route[] = [
  ...approvalRoutes,
  createMergeRequest,
  getMergeRequests,
  getMergeRequest,
  getMergeRequestReferences,
  getMergeRequestPipelines,
  postMergeRequestPipeline,
  ...mergeRequestChangeRoutes,
  ...approveRoutes,
  ...mergeRequestContentRoutes,
  ...discussionRoutes,
  ...mergeRoutes,
  ...renewRoutes,
  ...mergeSettingRoutes,
];
