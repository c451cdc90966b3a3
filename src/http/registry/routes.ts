import type { Route } from "../core/route.ts";
import { registryArtifactRoutes } from "./artifact.ts";
import { registryRepositoryRoutes } from "./repository.ts";

export const registrySectionRoutes: readonly Route[] = [
  ...registryArtifactRoutes,
  ...registryRepositoryRoutes,
];
