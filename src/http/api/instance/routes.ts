import type { Route } from "../../core/route.ts";
import { reportRoutes } from "./report.ts";
import { settingsRoutes } from "./settings.ts";
import { templateSettingRoutes } from "./template-setting.ts";

export const instanceSectionRoutes: readonly Route[] = [
  ...reportRoutes,
  ...settingsRoutes,
  ...templateSettingRoutes,
];
