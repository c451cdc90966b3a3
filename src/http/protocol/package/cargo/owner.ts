import { z } from "zod";

import { cargoName } from "../../../../package/cargo/format.ts";
import { Refusal } from "../../../../platform/refusal.ts";
import { findProjectById } from "../../../../projections/project/project.ts";
import type { RegistryRepositoryRow } from "../../../../projections/registry/repository.ts";
import { findCompanyById } from "../../../../projections/team/company.ts";
import { usersWithRole } from "../../../../projections/team/member.ts";
import { listAdministrators, type UserRow } from "../../../../projections/user/user.ts";
import { orNotFound, packageNotFound } from "../../../api/package/request.ts";
import { jsonAnswer } from "../../../core/answer.ts";
import { bodyLimitsDefault, readJson } from "../../../core/body.ts";
import type { Deps } from "../../../core/deps.ts";
import { checked, nameLengthMax } from "../../../core/schema.ts";
import { packageIdsIn } from "../core/source.ts";
import type { NativeCall, NativeRequest } from "../core/type.ts";

const path = /^api\/v1\/crates\/(?<name>[A-Za-z0-9_-]+)\/owners$/;
const ownersMax = 1_000;
const Users = z.object({ users: z.array(z.string().max(nameLengthMax)).min(1).max(100) });

/** Who may publish in the repository. */
async function ownersOf(
  { owner_type, owner_id }: RegistryRepositoryRow,
  { db }: Pick<Deps, "db">,
): Promise<readonly UserRow[]> {
  if (owner_type === "INSTANCE") return listAdministrators(db, ownersMax);
  const filter = { role: "DEVELOPER", limit: ownersMax } as const;
  if (owner_type === "COMPANY") {
    const company = await findCompanyById(db, owner_id);
    const ownerUserId = company?.owner_id ?? null;
    return usersWithRole(db, { ...filter, ownerUserId, parentIds: [owner_id] });
  }
  const project = await findProjectById(db, owner_id);
  if (project === undefined) return [];
  const above = [project.owner_id, project.owner_company_id].filter((id) => id !== null);
  const ownerUserId = project.owner_user_id;
  return usersWithRole(db, { ...filter, ownerUserId, parentIds: [project.id, ...above] });
}

/** @throws Refusal 404 when the repository has no such crate */
async function mustHaveCrate({ params, repository }: NativeRequest, deps: Deps): Promise<void> {
  const name = orNotFound(() => cargoName(params["name"] ?? ""));
  if ((await packageIdsIn(repository, { type: "cargo", name }, deps)).length === 0) {
    throw packageNotFound();
  }
}

/** cargo wants a number of 32 bits for each: the first ones of the id. */
const presented = ({ id, alias }: UserRow) => ({
  id: Number.parseInt(id.slice(0, 8), 16),
  login: alias,
  name: null,
});

/** doc.rust-lang.org/cargo/reference/registry-web-api.html#owners; for who may publish, as members are no secret to them. */
const listOwners: NativeCall = {
  method: "GET",
  path,
  right: "write",
  operationId: "list-crate-owners",
  async handle(native, deps) {
    await mustHaveCrate(native, deps);
    return jsonAnswer(200, { users: (await ownersOf(native.repository, deps)).map(presented) });
  },
};

/** @throws Refusal 400, 413, 422 */
async function usersNamed(
  native: NativeRequest,
  deps: Deps,
): Promise<Readonly<{ named: readonly string[]; owners: ReadonlySet<string> }>> {
  await mustHaveCrate(native, deps);
  const { users } = checked(Users, (await readJson(native.ctx, bodyLimitsDefault)).json);
  const owners = await ownersOf(native.repository, deps);
  const named = users.map((login) => login.toLowerCase());
  return { named, owners: new Set(owners.map(({ alias }) => alias.toLowerCase())) };
}

/** Owners are those whose role lets them publish; a crate has none of its own. */
function ownedByRole(): Refusal {
  const message =
    "Who publishes here is told by roles: give or take the role DEVELOPER in the owner of the repository.";
  return new Refusal("unprocessable", "package.owned_by_role", message);
}

const addOwners: NativeCall = {
  method: "PUT",
  path,
  right: "write",
  operationId: "add-crate-owners",
  async handle(native, deps) {
    const { named, owners } = await usersNamed(native, deps);
    if (!named.every((login) => owners.has(login))) throw ownedByRole();
    return jsonAnswer(200, { ok: true, msg: "All of them may publish already." });
  },
};

const removeOwners: NativeCall = {
  method: "DELETE",
  path,
  right: "write",
  operationId: "remove-crate-owners",
  async handle(native, deps) {
    const { named, owners } = await usersNamed(native, deps);
    if (named.some((login) => owners.has(login))) throw ownedByRole();
    return jsonAnswer(200, { ok: true, msg: "None of them may publish." });
  },
};

export const cargoOwnerCalls: readonly NativeCall[] = [listOwners, addOwners, removeOwners];
