import type { Route } from "../../core/route.ts";
import { issueCommentRoutes } from "./comment.ts";
import { issueRoutes } from "./issue.ts";
import { getIssueReferences } from "./reference.ts";

export const issueSectionRoutes: readonly Route[] = [
  ...issueCommentRoutes,
  ...issueRoutes,
  getIssueReferences,
];
