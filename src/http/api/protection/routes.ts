import type { Route } from "../../core/route.ts";
import { protectionRoutes } from "./protection.ts";

export const protectionSectionRoutes: readonly Route[] = [...protectionRoutes];
