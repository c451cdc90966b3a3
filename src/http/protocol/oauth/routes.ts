import type { Route } from "../../core/route.ts";
import { oauthCompatRoutes } from "./compat.ts";
import { metadataRoutes } from "./metadata.ts";
import { oauthTokenRoutes } from "./token.ts";

export const oauthProtocolRoutes: readonly Route[] = [
  ...oauthCompatRoutes,
  ...metadataRoutes,
  ...oauthTokenRoutes,
];
