import type { EventMetadata } from "../../events/core/event.ts";
import { type CommandResult, handle } from "../core/handle.ts";
import { reserveAlias } from "../core/reserve-alias.ts";
import type { AliasDeps } from "./alias-holder.ts";
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
