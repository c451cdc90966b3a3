import type { Route } from "../../core/route.ts";
import { undoRoutes } from "./undo.ts";

export const undoSectionRoutes: readonly Route[] = [...undoRoutes];
