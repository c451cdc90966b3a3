import { auditPages } from "./audit/audit-page.ts";
import { agentFormPages } from "./cicd/agent-form.ts";
import { agentActPages } from "./cicd/agent-list.ts";
import { agentPages } from "./cicd/agent-page.ts";
import { scheduleFormPages } from "./cicd/schedule-form.ts";
import { schedulePages } from "./cicd/schedule-page.ts";
import { triggerPages } from "./cicd/trigger-page.ts";
import { variableFormPages } from "./cicd/variable-form.ts";
import { variablePages } from "./cicd/variable-page.ts";
import { liveScript } from "./common/script.ts";
import { siteStyle } from "./common/style.ts";
import type { PageRoute } from "./core/route.ts";
import { issueFormPages } from "./issue/form-page.ts";
import { issuePages } from "./issue/issue-page.ts";
import { requestActions } from "./merge-request/action.ts";
import { requestChangePages } from "./merge-request/change-page.ts";
import { requestFormPages } from "./merge-request/form-page.ts";
import { requestListPages } from "./merge-request/list-page.ts";
import { requestPages } from "./merge-request/request-page.ts";
import { opsPages } from "./ops/ops-page.ts";
import { webhookPages } from "./ops/webhook-page.ts";
import { forkPages } from "./owner/fork-page.ts";
import { ownerPages } from "./owner/owner-page.ts";
import { transferPages } from "./owner/transfer-page.ts";
import { environmentPages } from "./pipeline/environment-page.ts";
import { jobPages } from "./pipeline/job-page.ts";
import { livePages } from "./pipeline/live.ts";
import { pipelinePages } from "./pipeline/pipeline-page.ts";
import { registryPages } from "./registry/registry-page.ts";
import { codePages } from "./repository/code-page.ts";
import { commitPages } from "./repository/commit-page.ts";
import { rawPages } from "./repository/raw.ts";
import { refPages } from "./repository/ref-page.ts";

/** Pages behind the addresses that the service sends. */
export const sitePages: readonly PageRoute[] = [
  ...agentActPages,
  ...agentFormPages,
  ...agentPages,
  ...auditPages,
  ...codePages,
  ...commitPages,
  ...environmentPages,
  ...forkPages,
  ...issueFormPages,
  ...issuePages,
  ...jobPages,
  ...livePages,
  liveScript,
  ...pipelinePages,
  ...opsPages,
  ...ownerPages,
  ...rawPages,
  ...refPages,
  ...requestActions,
  ...requestChangePages,
  ...requestFormPages,
  ...requestListPages,
  ...requestPages,
  ...registryPages,
  ...scheduleFormPages,
  ...schedulePages,
  siteStyle,
  ...transferPages,
  ...triggerPages,
  ...variableFormPages,
  ...variablePages,
  ...webhookPages,
];
