import { z } from "zod";
import { mustNotBeReserved } from "../../commands/core/reserved-alias.ts";
import { stepOf } from "../../commands/core/step.ts";
import { changeAlias, deleteAliasHolder } from "../../commands/team/alias-holder.ts";
import { createCompany } from "../../commands/team/change-company.ts";
import { company } from "../../commands/team/company.ts";
import { Alias, CompanyId } from "../../events/core/ids.ts";
import { companySubject } from "../../events/team/company.ts";
import { deterministicId } from "../../platform/deterministic-id.ts";
import { Refusal } from "../../platform/refusal.ts";
import type { Belonging } from "../../projections/team/alias-holder.ts";
import {
  type CompanyRow,
  companyProjection,
  findCompanyById,
  listCompanies,
} from "../../projections/team/company.ts";
import { owns } from "../../projections/team/owner.ts";
import { mustMayCreate } from "../access/create-permission.ts";
import { ownsByNow } from "../access/owner.ts";
import { mustBeFound } from "../access/role-access.ts";
import { commandDeps, stampOf } from "../core/command-deps.ts";
import type { Deps } from "../core/deps.ts";
import type { PageRequest } from "../core/paging.ts";
import { type Route, route } from "../core/route.ts";
import { bool } from "../core/schema.ts";
import { changed, Description, Link, Title } from "./field.ts";
import { presentTeam, teamFields } from "./view.ts";

const tag = "Companies";
const Params = z.object({ companyAlias: z.string() });

export const CompanyView = z
  .object({
    ...teamFields,
    url: z.string(),
    contactPhone: z.string(),
    contactEmail: z.string(),
  })
  .meta({ id: "Company" });

function presentCompany(row: CompanyRow): z.input<typeof CompanyView> {
  return {
    ...presentTeam(row),
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
  errors: [403, 404, 422],
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
    return shown(deps, companyId);
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

async function shown({ db }: Deps, id: string) {
  return presentCompany(mustBeFound(await findCompanyById(db, id), "company"));
}

const list = {
  method: "get",
  tag,
  scope: "COMPANY_READ",
  access: "user",
  list: "companyList",
  reply: CompanyView,
  errors: [403, 404],
} as const;

const getPublicCompanies = route({
  ...list,
  path: "/company",
  operationId: "listCompanies",
  summary: "List public companies",
  handle: ({ page }, deps) => listed(deps, { which: "public" }, page),
});

const getOwnCompanies = route({
  ...list,
  path: "/company/my",
  operationId: "listOwnCompanies",
  summary: "List the current user's companies",
  handle: ({ page, request: { userId } }, deps) => listed(deps, { which: "mine", userId }, page),
});

const getSharedCompanies = route({
  ...list,
  path: "/company/shared",
  operationId: "listSharedCompanies",
  summary: "List companies that the current user takes part in",
  handle: ({ page, request: { userId } }, deps) => listed(deps, { which: "shared", userId }, page),
});

async function listed({ db }: Deps, belonging: Belonging, { size, offset }: PageRequest) {
  const { rows, total } = await listCompanies(db, belonging, { limit: size, offset });
  return { items: rows.map(presentCompany), totalElements: total };
}

const getCompany = route({
  method: "get",
  path: "/company/{companyAlias}",
  operationId: "getCompany",
  summary: "Get a company",
  tag,
  scope: "COMPANY_READ",
  access: "company:GUEST",
  params: Params,
  asOf: { readModels: [companyProjection], again: findCompanyById },
  reply: CompanyView,
  errors: [403, 404],
  handle: async ({ request }) => presentCompany(request.company),
});

const CompanyChange = z
  .object({
    title: Title.optional(),
    description: Description.nullish(),
    isPrivate: bool().optional(),
    avatar: Link.nullish(),
    alias: Alias.optional(),
    ...contactFields,
  })
  .meta({ id: "CompanyChange", description: "What is not given stays as it is." });

const putCompany = route({
  method: "put",
  path: "/company/{companyAlias}",
  operationId: "changeCompany",
  summary: "Change a company",
  tag,
  scope: "COMPANY_WRITE",
  access: "company:ADMIN",
  params: Params,
  body: CompanyChange,
  reply: CompanyView,
  errors: [403, 404, 422],
  async handle({ body: { alias, ...rest }, request }, deps) {
    const { id, alias: current } = request.company;
    const stamp = stampOf(request, deps);
    const metadata = await request.metadata();
    if (alias !== undefined && alias !== current) {
      mustNotBeReserved(alias);
      const command = { type: "ChangeAlias", alias, ...stamp } as const;
      const order = { id, command, metadata: stepOf(metadata, "alias") };
      await changeAlias(commandDeps(deps), company, order);
    }
    const details = { ...changed(rest), ...(await contacts(deps, id, rest)) };
    const command = { type: "ChangeDetails", details, ...stamp } as const;
    await request.execute(company, id, command);
    return shown(deps, id);
  },
});

const removeCompany = route({
  method: "delete",
  path: "/company/{companyAlias}",
  operationId: "deleteCompany",
  summary: "Delete a company",
  description: "Its teams and projects must have been deleted or transferred before.",
  tag,
  scope: "COMPANY_WRITE",
  access: "company:ADMIN",
  params: Params,
  reply: "empty",
  errors: [403, 404, 422],
  async handle({ request }, deps) {
    const { id } = request.company;
    if (await owns(deps.db, id)) {
      const message = "The company still has teams or projects.";
      throw new Refusal("unprocessable", "company.not_empty", message);
    }
    const stamp = stampOf(request, deps);
    const command = { type: "DeleteAliasHolder", ...stamp } as const;
    const checking = { ...commandDeps(deps), owns: ownsByNow(deps) };
    await request.executeProcess((metadata) =>
      deleteAliasHolder(checking, company, { id, command, metadata }),
    );
  },
});

export const companyRoutes: readonly Route[] = [
  postCompany,
  getPublicCompanies,
  getOwnCompanies,
  getSharedCompanies,
  getCompany,
  putCompany,
  removeCompany,
];
