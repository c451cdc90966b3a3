import type { Knex } from "knex";
import { type CompanyId, normaliseAlias, type UserId } from "../../events/core/ids.ts";
import { idInStream } from "../../events/core/stream.ts";
import { type CompanyDetails, companyEvents } from "../../events/team/company.ts";
import type { ProjectionContext } from "../core/projection.ts";
import { createPublicIndex, publicTotalOf } from "../core/public-rows.ts";
import { defineRowProjection } from "../core/row-projection.ts";
import { type Changes, tableOf, type Writes } from "../core/writes.ts";
import { type BelongingToUser, listOf } from "./alias-holder.ts";

type StoredCompany = Readonly<{
  id: CompanyId;
  owner_id: UserId;
  alias: string;
  alias_normalised: string;
  title: string;
  description: string | null;
  is_private: boolean;
  avatar: string | null;
  url: string | null;
  contact_phone: string | null;
  contact_email: string | null;
  created_at: Date;
  deleted_at: Date | null;
}>;

/** As queries give it. */
export type CompanyRow = StoredCompany & Readonly<{ owner_alias: string }>;

const publicTotal = publicTotalOf("company");
const stored = tableOf<StoredCompany>({ name: "company", key: ["id"], total: publicTotal });

export const companyProjection = defineRowProjection({
  name: "company",
  announces: "access",
  version: 2,
  tables: ["company", publicTotal.table],
  async create(tx) {
    await tx.schema.createTable("company", (table) => {
      table.uuid("id").primary();
      table.uuid("owner_id").notNullable();
      table.text("alias").notNullable();
      table.text("alias_normalised").notNullable().index();
      table.text("title").notNullable();
      table.boolean("is_private").notNullable();
      for (const column of ["description", "avatar", "url", "contact_phone", "contact_email"]) {
        table.text(column);
      }
      table.timestamp("created_at").notNullable();
      table.timestamp("deleted_at");
      table.index(["owner_id", "created_at", "id"]);
    });
    await createPublicIndex(tx, "company");
    await publicTotal.create(tx);
  },
  events: companyEvents,
  sealed: ({ data }) =>
    "details" in data ? [data.details.contactPhone, data.details.contactEmail] : [],
  handlers: {
    CompanyCreated: async (rows, { data }, context) => {
      const row = {
        id: data.companyId,
        owner_id: data.ownerId,
        alias: data.alias,
        alias_normalised: normaliseAlias(data.alias),
        ...(await columns(data.details, context)),
        created_at: new Date(data.createdAt),
        deleted_at: null,
      };
      rows.put(stored, row);
    },
    CompanyDetailsChanged: async (rows, { stream, data }, context) =>
      change(rows, stream, await columns(data.details, context)),
    CompanyAliasChanged: (rows, { stream, data: { alias } }) =>
      change(rows, stream, { alias, alias_normalised: normaliseAlias(alias) }),
    CompanyDeleted: (rows, { stream, data }) =>
      change(rows, stream, { deleted_at: new Date(data.deletedAt) }),
  },
});

async function columns(details: CompanyDetails, { open }: ProjectionContext) {
  const { title, description, avatar, url, private: is_private } = details;
  const contact_phone = details.contactPhone && (await open(details.contactPhone));
  const contact_email = details.contactEmail && (await open(details.contactEmail));
  return { title, description, avatar, url, is_private, contact_phone, contact_email };
}

const change = (rows: Writes, stream: string, over: Changes<StoredCompany>): void =>
  rows.change(stored, { id: idInStream(stream) as CompanyId }, over);

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
  publicTotal,
  query: companies,
  narrow,
});
