import type { Route } from "../../core/route.ts";
import { commitStatusRoutes } from "./commit-status.ts";
import { environmentRoutes } from "./environment.ts";
import { jobRoutes } from "./job.ts";
import { lifetimeRoutes } from "./lifetime.ts";
import { lintRoutes } from "./lint.ts";
import { pipelineRoutes } from "./pipeline.ts";
import { scheduleRoutes } from "./schedule.ts";
import { triggerRoutes } from "./trigger.ts";
import { variableRoutes } from "./variable.ts";

export const pipelineSectionRoutes: readonly Route[] = [
  ...commitStatusRoutes,
  ...environmentRoutes,
  ...jobRoutes,
  ...lifetimeRoutes,
  ...lintRoutes,
  ...pipelineRoutes,
  ...scheduleRoutes,
  ...triggerRoutes,
  ...variableRoutes,
];
