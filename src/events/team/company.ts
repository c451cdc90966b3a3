import { z } from "zod";

import type { EventSchemas } from "../core/event.ts";
import { Alias, CompanyId, IsoInstant, UserId } from "../core/ids.ts";
import { Sealed } from "../core/sealed.ts";
import { streamName } from "../core/stream.ts";

/** What its administrators may change at will; how to reach people is theirs, and sealed. */
export const CompanyDetails = z.object({
  title: z.string(),
  description: z.string().nullable(),
  private: z.boolean(),
  avatar: z.string().nullable(),
  url: z.string().nullable(),
  contactPhone: Sealed.nullable(),
  contactEmail: Sealed.nullable(),
});
export type CompanyDetails = Readonly<z.output<typeof CompanyDetails>>;

export const companyEvents = {
  CompanyCreated: z.object({
    companyId: CompanyId,
    ownerId: UserId,
    alias: Alias,
    details: CompanyDetails,
    createdAt: IsoInstant,
  }),
  CompanyDetailsChanged: z.object({
    details: CompanyDetails,
    previous: CompanyDetails,
    changedById: UserId,
    changedAt: IsoInstant,
  }),
  CompanyAliasChanged: z.object({
    alias: Alias,
    previousAlias: Alias,
    changedById: UserId,
    changedAt: IsoInstant,
  }),
  CompanyDeleted: z.object({ deletedById: UserId, deletedAt: IsoInstant }),
} as const satisfies EventSchemas;

export const companyStream = (id: string): string => streamName("company", id);

/** Names the vault key under which a company's contacts are sealed. */
export const companySubject = (id: string): string => `company-${id}`;
