import { z } from "zod";

import type { EventSchemas } from "../core/event.ts";
import { IsoInstant, OAuthApplicationId, UserId } from "../core/ids.ts";
import { Sealed } from "../core/sealed.ts";
import { streamName } from "../core/stream.ts";

/** What an application says about itself. */
export const OAuthApplicationDetails = z.object({
  name: z.string(),
  description: z.string(),
  homepageUrl: z.string(),
  /** The one address that codes are sent to; compared letter by letter. */
  authCallbackUrl: z.string(),
  /** Without a server-side component: it cannot keep a secret. */
  standalone: z.boolean(),
});
export type OAuthApplicationDetails = Readonly<z.output<typeof OAuthApplicationDetails>>;

export const oauthApplicationEvents = {
  OAuthApplicationCreated: z.object({
    applicationId: OAuthApplicationId,
    ownerId: UserId,
    details: OAuthApplicationDetails,
    clientId: z.string(),
    clientSecret: Sealed,
    createdAt: IsoInstant,
  }),
  OAuthApplicationChanged: z.object({
    details: OAuthApplicationDetails,
    changedById: UserId,
    changedAt: IsoInstant,
  }),
  /** From here on it can request authorisation from users. */
  OAuthApplicationRegistered: z.object({ registeredById: UserId, registeredAt: IsoInstant }),
  OAuthApplicationDeleted: z.object({ deletedById: UserId, deletedAt: IsoInstant }),
} as const satisfies EventSchemas;

export const oauthApplicationStream = (id: string): string => streamName("oauthApplication", id);
