import type { Route } from "../../core/route.ts";
import { archiveRoutes } from "./archive.ts";
import { blobRoutes } from "./blob.ts";
import { branchRoutes } from "./branch.ts";
import { branchChangeRoutes } from "./branch-change.ts";
import { branchCompareRoutes } from "./branch-compare.ts";
import { commitRoutes } from "./commit.ts";
import { commitChangeRoutes } from "./commit-change.ts";
import { commitDiffRoutes } from "./commit-diff.ts";
import { commitPickRoutes } from "./commit-pick.ts";
import { tagRoutes } from "./tag.ts";
import { tagChangeRoutes } from "./tag-change.ts";

export const repositorySectionRoutes: readonly Route[] = [
  ...archiveRoutes,
  ...blobRoutes,
  ...branchRoutes,
  ...branchChangeRoutes,
  ...branchCompareRoutes,
  ...commitRoutes,
  ...commitChangeRoutes,
  ...commitDiffRoutes,
  ...commitPickRoutes,
  ...tagRoutes,
  ...tagChangeRoutes,
];
