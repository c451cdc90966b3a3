import type { Route } from "../../core/route.ts";
import { proofRoutes } from "./proof.ts";

export const proofSectionRoutes: readonly Route[] = [...proofRoutes];
