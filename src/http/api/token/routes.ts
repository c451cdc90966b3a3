import type { Route } from "../../core/route.ts";
import { accessTokenRoutes } from "./access-token.ts";
import { transportTokenRoutes } from "./transport-token.ts";

export const tokenSectionRoutes: readonly Route[] = [...accessTokenRoutes, ...transportTokenRoutes];
