import type { Route } from "../../core/route.ts";
import { companyRoutes } from "./company.ts";
import { memberRoutes } from "./member.ts";
import { teamRoutes } from "./team.ts";
import { teamTransferRoutes } from "./transfer.ts";
import { transferRoutes } from "./transfer-offer.ts";

export const teamSectionRoutes: readonly Route[] = [
  ...companyRoutes,
  ...memberRoutes,
  ...teamRoutes,
  ...teamTransferRoutes,
  ...transferRoutes,
];
