import { agentSectionRoutes } from "./agent/routes.ts";
import { auditSectionRoutes } from "./audit/routes.ts";
import type { Route } from "./core/route.ts";
import { feedSectionRoutes } from "./feed/routes.ts";
import { instanceSectionRoutes } from "./instance/routes.ts";
import { issueSectionRoutes } from "./issue/routes.ts";
import { labelRoutes } from "./label/label.ts";
import { loginSectionRoutes } from "./login/routes.ts";
import { mergeRequestSectionRoutes } from "./merge-request/routes.ts";
import { oauthSectionRoutes } from "./oauth/routes.ts";
import { packageSectionRoutes } from "./package/routes.ts";
import { pipelineSectionRoutes } from "./pipeline/routes.ts";
import { projectSectionRoutes } from "./project/routes.ts";
import { proofSectionRoutes } from "./proof/routes.ts";
import { protectionSectionRoutes } from "./protection/routes.ts";
import { commitReferenceRoutes } from "./reference/commit.ts";
import { registrySectionRoutes } from "./registry/routes.ts";
import { releaseSectionRoutes } from "./release/routes.ts";
import { repositorySectionRoutes } from "./repository/routes.ts";
import { teamSectionRoutes } from "./team/routes.ts";
import { tokenSectionRoutes } from "./token/routes.ts";
import { undoSectionRoutes } from "./undo/routes.ts";
import { userSectionRoutes } from "./user/routes.ts";
import { webhookSectionRoutes } from "./webhook/routes.ts";

/** Every declared operation. What is not here does not exist: no route is mounted by hand. */
export const routes: readonly Route[] = [
  ...agentSectionRoutes,
  ...auditSectionRoutes,
  ...feedSectionRoutes,
  ...instanceSectionRoutes,
  ...issueSectionRoutes,
  ...labelRoutes,
  ...loginSectionRoutes,
  ...mergeRequestSectionRoutes,
  ...oauthSectionRoutes,
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
