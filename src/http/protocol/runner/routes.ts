import type { Route } from "../../core/route.ts";
import { artifactTransferRoutes } from "./artifact-transfer.ts";
import { agentProtocolRoutes } from "./protocol.ts";
import { jobRequestRoutes } from "./request.ts";
import { agentTokenResetRoutes } from "./token-reset.ts";
import { traceRoutes } from "./trace.ts";
import { jobUpdateRoutes } from "./update.ts";

export const runnerProtocolRoutes: readonly Route[] = [
  ...agentProtocolRoutes,
  ...agentTokenResetRoutes,
  ...artifactTransferRoutes,
  ...jobRequestRoutes,
  ...jobUpdateRoutes,
  ...traceRoutes,
];
