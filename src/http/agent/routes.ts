import type { Route } from "../core/route.ts";
import { agentRoutes } from "./agent.ts";
import { artifactRoutes } from "./artifact.ts";
import { downloadPipelineArtifacts } from "./artifact-archive.ts";
import { artifactTransferRoutes } from "./artifact-transfer.ts";
import { agentJobRoutes } from "./job.ts";
import { jobLogRoutes } from "./log.ts";
import { agentProtocolRoutes } from "./protocol.ts";
import { registrationRoutes } from "./registration.ts";
import { jobRequestRoutes } from "./request.ts";
import { agentTokenResetRoutes } from "./token-reset.ts";
import { traceRoutes } from "./trace.ts";
import { jobUpdateRoutes } from "./update.ts";

export const agentSectionRoutes: readonly Route[] = [
  ...agentJobRoutes,
  ...agentProtocolRoutes,
  ...agentRoutes,
  ...agentTokenResetRoutes,
  ...artifactRoutes,
  downloadPipelineArtifacts,
  ...artifactTransferRoutes,
  ...jobLogRoutes,
  ...jobRequestRoutes,
  ...jobUpdateRoutes,
  ...registrationRoutes,
  ...traceRoutes,
];
