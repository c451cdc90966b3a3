import type { Route } from "../../core/route.ts";
import { agentRoutes } from "./agent.ts";
import { artifactRoutes } from "./artifact.ts";
import { downloadPipelineArtifacts } from "./artifact-archive.ts";
import { agentJobRoutes } from "./job.ts";
import { jobLogRoutes } from "./log.ts";
import { registrationRoutes } from "./registration.ts";

export const agentSectionRoutes: readonly Route[] = [
  ...agentJobRoutes,
  ...agentRoutes,
  ...artifactRoutes,
  downloadPipelineArtifacts,
  ...jobLogRoutes,
  ...registrationRoutes,
];
