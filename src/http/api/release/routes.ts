import type { Route } from "../../core/route.ts";
import { releaseFileRoutes } from "./file.ts";
import { releaseRoutes } from "./release.ts";

export const releaseSectionRoutes: readonly Route[] = [...releaseFileRoutes, ...releaseRoutes];
