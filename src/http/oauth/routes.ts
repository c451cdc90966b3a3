import type { Route } from "../core/route.ts";
import { oauthApplicationRoutes } from "./application.ts";
import { authorizedApplicationRoutes } from "./authorized-application.ts";
import { oauthCompatRoutes } from "./compat.ts";
import { metadataRoutes } from "./metadata.ts";
import { oauthTokenRoutes } from "./token.ts";

export const oauthSectionRoutes: readonly Route[] = [
  ...oauthApplicationRoutes,
  ...authorizedApplicationRoutes,
  ...oauthCompatRoutes,
  ...metadataRoutes,
  ...oauthTokenRoutes,
];
