import type { EventMetadata } from "../../events/core/event.ts";
import { type CommandResult, handle } from "../core/handle.ts";
import { reserveAlias } from "../core/reserve-alias.ts";
import type { Owns } from "../project/claim-child.ts";
import { type AliasDeps, changeAlias, deleteAliasHolder } from "./alias-holder.ts";
import { type CompanyCommand, company } from "./company.ts";

type Command<Type extends CompanyCommand["type"]> = Extract<CompanyCommand, { type: Type }>;

/**
 * Reserves the alias, then creates the company. May be repeated with the same company and command id.
 *
 * @throws Refusal `alias.taken`.
 */
export async function createCompany(
  deps: AliasDeps,
  command: Command<"CreateCompany">,
  metadata: EventMetadata,
): Promise<CommandResult> {
  const { companyId, alias } = command;
  await reserveAlias(deps, { alias, holderId: companyId }, metadata);
  return handle(deps.store, company, { id: companyId, command, metadata });
}

/** @throws Refusal `alias.taken`, `company.not_found`. */
export async function changeCompanyAlias(
  deps: AliasDeps,
  companyId: string,
  command: Command<"ChangeCompanyAlias">,
  metadata: EventMetadata,
): Promise<CommandResult> {
  return changeAlias(deps, company, { id: companyId, command, metadata });
}

/** @throws Refusal `company.not_found`, `owner.not_empty`. */
export async function deleteCompany(
  deps: AliasDeps & Readonly<{ owns: Owns }>,
  companyId: string,
  command: Command<"DeleteCompany">,
  metadata: EventMetadata,
): Promise<CommandResult> {
  return deleteAliasHolder(deps, company, { id: companyId, command, metadata });
}
