import { accessTokenProjection } from "./access-token.ts";
import { companyProjection } from "./company.ts";
import { followProjection } from "./follow.ts";
import { gitRefProjection } from "./git-ref.ts";
import { memberProjection } from "./member.ts";
import { projectProjection } from "./project.ts";
import type { Projection } from "./projection.ts";
import { sshKeyProjection } from "./ssh-key.ts";
import { teamProjection } from "./team.ts";
import { userProjection } from "./user.ts";
import { webhookProjection } from "./webhook.ts";
import { webhookDeliveryProjection } from "./webhook-delivery.ts";

/** Every read model, sorted by name. */
export const allProjections: readonly Projection[] = [
  accessTokenProjection,
  companyProjection,
  followProjection,
  gitRefProjection,
  memberProjection,
  projectProjection,
  teamProjection,
  sshKeyProjection,
  userProjection,
  webhookProjection,
  webhookDeliveryProjection,
];
