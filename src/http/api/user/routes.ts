import type { Route } from "../../core/route.ts";
import { userAccountRoutes } from "./account.ts";
import { userAdministrationRoutes } from "./administration.ts";
import { userBanRoutes } from "./ban.ts";
import { userFollowRoutes } from "./follow.ts";
import { gpgKeyRoutes } from "./gpg-key.ts";
import { invitationRoutes } from "./invitation.ts";
import { mailRoutes } from "./mail.ts";
import { notificationRoutes } from "./notification.ts";
import { userProjectRoutes } from "./project.ts";
import { pushStatsRoutes } from "./push-stats.ts";
import { userRegistrationRoutes } from "./registration.ts";
import { sshKeyRoutes } from "./ssh-key.ts";
import { twoFactorRoutes } from "./two-factor.ts";
import { userRoutes } from "./user.ts";

export const userSectionRoutes: readonly Route[] = [
  ...userAccountRoutes,
  ...userAdministrationRoutes,
  ...userBanRoutes,
  ...userFollowRoutes,
  ...gpgKeyRoutes,
  ...invitationRoutes,
  ...mailRoutes,
  ...notificationRoutes,
  ...userProjectRoutes,
  ...pushStatsRoutes,
  ...userRegistrationRoutes,
  ...sshKeyRoutes,
  ...twoFactorRoutes,
  ...userRoutes,
];
