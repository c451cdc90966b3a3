import type { Route } from "../../core/route.ts";
import { registryArtifactRoutes } from "./artifact.ts";
import { registryPackageRoutes } from "./package.ts";
import { registryRepositoryRoutes } from "./repository.ts";

export const registrySectionRoutes: readonly Route[] = [
  ...registryArtifactRoutes,
  ...registryPackageRoutes,
  ...registryRepositoryRoutes,
];
