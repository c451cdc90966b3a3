import type { Route } from "../../core/route.ts";
import { packageDownloadRoutes } from "./download.ts";
import { packageRoutes } from "./package.ts";
import { packageUploadRoutes } from "./upload.ts";

export const packageSectionRoutes: readonly Route[] = [
  ...packageDownloadRoutes,
  ...packageRoutes,
  ...packageUploadRoutes,
];
