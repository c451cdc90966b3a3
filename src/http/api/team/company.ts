import { z } from "zod";
import { mustNotBeReserved } from "../../../commands/core/reserved-alias.ts";
import { createCompany } from "../../../commands/team/change-company.ts";
import { company } from "../../../commands/team/company.ts";
import { Alias, CompanyId } from "../../../events/core/ids.ts";
import { companySubject } from "../../../events/team/company.ts";
import { deterministicId } from "../../../platform/deterministic-id.ts";
import { Refusal } from "../../../platform/refusal.ts";
import {
  type CompanyRow,
  companyProjection,
  findCompanyById,
  listCompanies,
} from "../../../projections/team/company.ts";
import { owns } from "../../../projections/team/owner.ts";
import { mustMayCreate } from "../../access/create-permission.ts";
import { companyScope } from "../../access/owner-scope.ts";
import { mustBeFound } from "../../access/role-access.ts";
import { commandDeps } from "../../core/command-deps.ts";
import type { Deps } from "../../core/deps.ts";
import { type Route, route } from "../../core/route.ts";
import { bool } from "../../core/schema.ts";
import { changeFields, changeHolder, deleteHolder, listRoutes } from "./alias-holder.ts";
import { changed, Description, Link, Title } from "./field.ts";
import { teamFields, teamView } from "./view.ts";

const tag = "Companies";

export const CompanyView = z
  .object({
    ...teamFields,
    url: z.string(),
    contactPhone: z.string(),
    contactEmail: z.string(),
  })
  .meta({ id: "Company" });

function companyView(row: CompanyRow): z.input<typeof CompanyView> {
  return {
    ...teamView(row),
    url: row.url ?? "",
    contactPhone: row.contact_phone ?? "",
    contactEmail: row.contact_email ?? "",
  };
}

const contactFields = {
  url: Link.nullish(),
  contactPhone: z.string().trim().max(64).nullish(),
  contactEmail: z.union([z.literal(""), z.email().max(80)]).nullish(),
};

const NewCompany = z
  .object({
    title: Title,
    alias: Alias,
    isPrivate: bool().default(true),
    description: Description.nullish(),
    ...contactFields,
  })
  .meta({ id: "NewCompany" });

const postCompany = route({
  method: "post",
  path: "/company",
  operationId: "createCompany",
  summary: "Create a company",
  description: "The caller is its owner.",
  tag,
  scope: "COMPANY_WRITE",
  access: "user",
  body: NewCompany,
  reply: CompanyView,
  errors: [404],
  async handle({ body, request }, deps) {
    mustMayCreate("company", request, await deps.settings());
    mustNotBeReserved(body.alias);
    const companyId = CompanyId.parse(deterministicId(request.commandId, "company"));
    const command = {
      type: "CreateCompany",
      companyId,
      ownerId: request.userId,
      alias: body.alias,
      details: {
        title: body.title,
        description: body.description || null,
        private: body.isPrivate,
        avatar: null,
        url: null,
        contactPhone: null,
        contactEmail: null,
        ...(await contacts(deps, companyId, body)),
      },
      at: deps.now().toISOString(),
    } as const;
    await request.executeProcess((metadata) => createCompany(commandDeps(deps), command, metadata));
    return findView(deps, companyId);
  },
});

type Contacts = Readonly<{
  url?: string | null | undefined;
  contactPhone?: string | null | undefined;
  contactEmail?: string | null | undefined;
}>;

/** Those given, sealed: they lead to people. */
async function contacts(
  { vault }: Deps,
  id: string,
  { url, contactPhone, contactEmail }: Contacts,
) {
  const seal = async (text: string | null) =>
    text ? await vault.seal(companySubject(id), text) : null;
  return {
    ...(url === undefined ? {} : { url: url || null }),
    ...(contactPhone === undefined ? {} : { contactPhone: await seal(contactPhone) }),
    ...(contactEmail === undefined ? {} : { contactEmail: await seal(contactEmail) }),
  };
}

async function findView({ db }: Deps, id: string) {
  return companyView(mustBeFound(await findCompanyById(db, id), "company"));
}

const lists = listRoutes({
  ownerScope: companyScope,
  plural: "Companies",
  list: "companyList",
  view: CompanyView,
  viewOf: companyView,
  find: listCompanies,
});

const getCompany = route({
  method: "get",
  path: "/company/{companyAlias}",
  operationId: "getCompany",
  summary: "Get a company",
  tag,
  scope: "COMPANY_READ",
  access: "company:GUEST",
  asOf: { readModels: [companyProjection], again: findCompanyById },
  reply: CompanyView,
  handle: async ({ request }) => companyView(request.company),
});

const CompanyChange = z
  .object({
    ...changeFields,
    ...contactFields,
  })
  .meta({ id: "CompanyChange", description: "What is not given stays as it is." });

const changing = {
  path: "/company/{companyAlias}",
  tag,
  scope: "COMPANY_WRITE",
  access: "company:ADMIN",
} as const;

const putCompany = route({
  ...changing,
  method: "put",
  operationId: "changeCompany",
  summary: "Change a company",
  body: CompanyChange,
  reply: CompanyView,
  async handle({ body: { alias, ...rest }, request }, deps) {
    const { company: row } = request;
    const details = { ...changed(rest), ...(await contacts(deps, row.id, rest)) };
    await changeHolder(company, row, { alias, details }, request, deps);
    return findView(deps, row.id);
  },
});

const removeCompany = route({
  ...changing,
  method: "delete",
  operationId: "deleteCompany",
  summary: "Delete a company",
  description: "Its teams and projects must have been deleted or transferred before.",
  reply: "empty",
  async handle({ request }, deps) {
    const { id } = request.company;
    if (await owns(deps.db, id)) {
      const message = "The company still has teams or projects.";
      throw new Refusal("unprocessable", "company.not_empty", message);
    }
    await deleteHolder(company, id, request, deps);
  },
});

export const companyRoutes: readonly Route[] = [
  postCompany,
  ...lists,
  getCompany,
  putCompany,
  removeCompany,
];
