import type { Route } from "../../core/route.ts";
import { feedRoutes } from "./feed.ts";
import { schemaRoutes } from "./schema.ts";

export const feedSectionRoutes: readonly Route[] = [...feedRoutes, ...schemaRoutes];
