import type { Route } from "../../core/route.ts";
import { oauthApplicationRoutes } from "./application.ts";
import { authorizedApplicationRoutes } from "./authorized-application.ts";

export const oauthSectionRoutes: readonly Route[] = [
  ...oauthApplicationRoutes,
  ...authorizedApplicationRoutes,
];
