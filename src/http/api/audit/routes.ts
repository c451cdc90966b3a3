import type { Route } from "../../core/route.ts";
import { auditRoutes } from "./audit.ts";

export const auditSectionRoutes: readonly Route[] = [...auditRoutes];
