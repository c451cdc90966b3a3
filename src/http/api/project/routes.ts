import type { Route } from "../../core/route.ts";
import { projectDeletionRoutes } from "./deletion.ts";
import { projectForkRoutes } from "./fork.ts";
import { mirrorRoutes } from "./mirror.ts";
import { projectRoutes } from "./project.ts";
import { projectQuotaRoutes } from "./quota.ts";
import { projectSettingRoutes } from "./setting.ts";
import { uploadedFileRoutes } from "./uploaded-file.ts";
import { userQuotaRoutes } from "./user-quota.ts";

export const projectSectionRoutes: readonly Route[] = [
  ...projectDeletionRoutes,
  ...projectForkRoutes,
  ...mirrorRoutes,
  ...projectRoutes,
  ...projectQuotaRoutes,
  ...projectSettingRoutes,
  ...uploadedFileRoutes,
  ...userQuotaRoutes,
];
