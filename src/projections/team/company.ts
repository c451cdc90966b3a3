import type { Knex } from "knex";
import { type CompanyId, normaliseAlias, type UserId } from "../../events/core/ids.ts";
import { idInStream } from "../../events/core/stream.ts";
import { type CompanyDetails, companyEvents } from "../../events/team/company.ts";
import { change, put } from "../core/change.ts";
import { defineReadModel, type Open } from "../core/read-model.ts";
import { column, defineTable, type RowOf } from "../core/table.ts";
import { countByVisibility, publicIndex } from "../list/public-rows.ts";
import { type BelongingToUser, listOf } from "./alias-holder.ts";

/** As queries give it. */
export type CompanyRow = StoredCompany & Readonly<{ owner_alias: string }>;

const visibility = countByVisibility("company");

const stored = defineTable({
  name: "company",
  columns: {
    id: column<CompanyId>("uuid"),
    owner_id: column<UserId>("uuid"),
    alias: "text",
    alias_normalised: "text",
    title: "text",
    description: "text null",
    is_private: "boolean",
    avatar: "text null",
    url: "text null",
    contact_phone: "text null",
    contact_email: "text null",
    created_at: "timestamptz",
    deleted_at: "timestamptz null",
  },
  key: ["id"],
  lateIndexes: ["(alias_normalised)", "(owner_id, created_at, id)", publicIndex],
  counts: [visibility],
});

type StoredCompany = RowOf<typeof stored>;

export const companyProjection = defineReadModel({
  name: "company",
  announces: "access",
  version: 3,
  tables: [stored, visibility.table],
  events: companyEvents,
  opens: true,
  effects: {
    CompanyCreated: ({ data }, open) =>
      put(stored, {
        id: data.companyId,
        owner_id: data.ownerId,
        alias: data.alias,
        alias_normalised: normaliseAlias(data.alias),
        ...columns(data.details, open),
        created_at: new Date(data.createdAt),
        deleted_at: null,
      }),
    CompanyDetailsChanged: ({ stream, data }, open) =>
      change(stored, idOf(stream), columns(data.details, open)),
    CompanyAliasChanged: ({ stream, data: { alias } }) =>
      change(stored, idOf(stream), { alias, alias_normalised: normaliseAlias(alias) }),
    CompanyDeleted: ({ stream, data }) =>
      change(stored, idOf(stream), { deleted_at: new Date(data.deletedAt) }),
  },
});

function columns(details: CompanyDetails, open: Open) {
  const { title, description, avatar, url, private: is_private } = details;
  const contact_phone = open(details.contactPhone);
  const contact_email = open(details.contactEmail);
  return { title, description, avatar, url, is_private, contact_phone, contact_email };
}

const idOf = (stream: string) => ({ id: idInStream(stream) as CompanyId });

const companies = (db: Knex) =>
  db<CompanyRow>("company")
    .join("app_user", "app_user.id", "company.owner_id")
    .whereNull("company.deleted_at")
    .select("company.*", "app_user.alias as owner_alias");

export function findCompany(db: Knex, alias: string): Promise<CompanyRow | undefined> {
  return companies(db).where("company.alias_normalised", normaliseAlias(alias)).first();
}

export function findCompanyById(db: Knex, id: string): Promise<CompanyRow | undefined> {
  return companies(db).where("company.id", id).first();
}

function narrow(db: Knex, query: Knex.QueryBuilder, { which, userId }: BelongingToUser): void {
  if (which === "mine") query.where("company.owner_id", userId);
  else {
    query
      .whereNot("company.owner_id", userId)
      .whereIn("company.id", db("member").where("user_id", userId).select("parent_id"));
  }
}

export const listCompanies = listOf<CompanyRow>({
  table: "company",
  query: companies,
  narrow,
});
