import { decode } from "../../events/core/decode.ts";
import type { EventMetadata } from "../../events/core/event.ts";
import { companyEvents, companyStream } from "../../events/team/company.ts";
import type { EventStore } from "../../platform/event-store/event-store.ts";
import { type CommandResult, handle } from "../core/handle.ts";
import { releaseAliases, reserveAlias } from "../core/reserve-alias.ts";
import { closeHoldings, type Owns } from "../project/claim-child.ts";
import { type CompanyCommand, company } from "./company.ts";

export type CompanyDeps = Readonly<{ store: EventStore; now: () => string }>;
type Command<Type extends CompanyCommand["type"]> = Extract<CompanyCommand, { type: Type }>;

/**
 * Reserves the alias, then creates the company. May be repeated with the same company and command id.
 *
 * @throws Refusal `alias.taken`.
 */
export async function createCompany(
  deps: CompanyDeps,
  command: Command<"CreateCompany">,
  metadata: EventMetadata,
): Promise<CommandResult> {
  const { companyId, alias } = command;
  await reserveAlias(deps, { alias, holderId: companyId }, metadata);
  return handle(deps.store, company, { id: companyId, command, metadata });
}

/** @throws Refusal `alias.taken`, `company.not_found`. */
export async function changeCompanyAlias(
  deps: CompanyDeps,
  companyId: string,
  command: Command<"ChangeCompanyAlias">,
  metadata: EventMetadata,
): Promise<CommandResult> {
  await reserveAlias(deps, { alias: command.alias, holderId: companyId }, metadata);
  const result = await handle(deps.store, company, { id: companyId, command, metadata });
  const had = await aliasesOf(deps, companyId);
  await releaseAliases(deps, { had, kept: command.alias, holderId: companyId }, metadata);
  return result;
}

/** @throws Refusal `company.not_found`, `owner.not_empty`. */
export async function deleteCompany(
  deps: CompanyDeps & Readonly<{ owns: Owns }>,
  companyId: string,
  command: Command<"DeleteCompany">,
  metadata: EventMetadata,
): Promise<CommandResult> {
  await closeHoldings(deps, companyId, metadata);
  const result = await handle(deps.store, company, { id: companyId, command, metadata });
  const had = await aliasesOf(deps, companyId);
  await releaseAliases(deps, { had, holderId: companyId }, metadata);
  return result;
}

async function aliasesOf({ store }: CompanyDeps, companyId: string): Promise<readonly string[]> {
  const aliases: string[] = [];
  for await (const recorded of store.readStream(companyStream(companyId))) {
    const event = decode(companyEvents, recorded);
    if (event.type === "CompanyCreated" || event.type === "CompanyAliasChanged") {
      aliases.push(event.data.alias);
    }
  }
  return aliases;
}
