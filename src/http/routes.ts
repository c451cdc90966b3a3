import { agentSectionRoutes } from "./api/agent/routes.ts";
import { auditSectionRoutes } from "./api/audit/routes.ts";
import { feedSectionRoutes } from "./api/feed/routes.ts";
import { instanceSectionRoutes } from "./api/instance/routes.ts";
import { issueSectionRoutes } from "./api/issue/routes.ts";
import { labelRoutes } from "./api/label/label.ts";
import { loginSectionRoutes } from "./api/login/routes.ts";
import { mergeRequestSectionRoutes } from "./api/merge-request/routes.ts";
import { oauthSectionRoutes } from "./api/oauth/routes.ts";
import { packageSectionRoutes } from "./api/package/routes.ts";
import { pipelineSectionRoutes } from "./api/pipeline/routes.ts";
import { projectSectionRoutes } from "./api/project/routes.ts";
import { proofSectionRoutes } from "./api/proof/routes.ts";
import { protectionSectionRoutes } from "./api/protection/routes.ts";
import { commitReferenceRoutes } from "./api/reference/commit.ts";
import { registrySectionRoutes } from "./api/registry/routes.ts";
import { releaseSectionRoutes } from "./api/release/routes.ts";
import { repositorySectionRoutes } from "./api/repository/routes.ts";
import { teamSectionRoutes } from "./api/team/routes.ts";
import { tokenSectionRoutes } from "./api/token/routes.ts";
import { undoSectionRoutes } from "./api/undo/routes.ts";
import { userSectionRoutes } from "./api/user/routes.ts";
import { webhookSectionRoutes } from "./api/webhook/routes.ts";
import type { Route } from "./core/route.ts";
import { oauthProtocolRoutes } from "./protocol/oauth/routes.ts";
import { runnerProtocolRoutes } from "./protocol/runner/routes.ts";

/** Every declared operation. What is not here does not exist: no route is mounted by hand. */
export const routes: readonly Route[] = [
  ...agentSectionRoutes,
  ...runnerProtocolRoutes,
  ...auditSectionRoutes,
  ...feedSectionRoutes,
  ...instanceSectionRoutes,
  ...issueSectionRoutes,
  ...labelRoutes,
  ...loginSectionRoutes,
  ...mergeRequestSectionRoutes,
  ...oauthSectionRoutes,
  ...oauthProtocolRoutes,
  ...packageSectionRoutes,
  ...pipelineSectionRoutes,
  ...projectSectionRoutes,
  ...proofSectionRoutes,
  ...protectionSectionRoutes,
  ...commitReferenceRoutes,
  ...registrySectionRoutes,
  ...releaseSectionRoutes,
  ...repositorySectionRoutes,
  ...teamSectionRoutes,
  ...tokenSectionRoutes,
  ...undoSectionRoutes,
  ...userSectionRoutes,
  ...webhookSectionRoutes,
];
