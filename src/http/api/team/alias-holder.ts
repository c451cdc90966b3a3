import type { z } from "zod";
import type { Slice } from "../../../commands/core/decider.ts";
import { mustNotBeReserved } from "../../../commands/core/reserved-alias.ts";
import { stepOf } from "../../../commands/core/step.ts";
import { changeAlias, deleteAliasHolder } from "../../../commands/team/alias-holder.ts";
import type { HolderCommand } from "../../../commands/team/alias-holder-state.ts";
import type { EventSchemas } from "../../../events/core/event.ts";
import { Alias, type UserId } from "../../../events/core/ids.ts";
import type { Part } from "../../../projections/list/list-rows.ts";
import type { Belonging, ListHolders } from "../../../projections/team/alias-holder.ts";
import { ownsByNow } from "../../access/owner.ts";
import type { OwnerScope } from "../../access/owner-scope.ts";
import { commandDeps, stampOf } from "../../core/command-deps.ts";
import type { Deps } from "../../core/deps.ts";
import { listed } from "../../core/paging.ts";
import type { RequestContext } from "../../core/request.ts";
import { type Route, route } from "../../core/route.ts";
import { bool } from "../../core/schema.ts";
import { Description, Link, Title } from "./field.ts";

type Lists<Row, View extends z.ZodType> = Readonly<{
  ownerScope: OwnerScope;
  plural: "Teams" | "Companies";
  /** Name in `_embedded`. */
  list: string;
  view: View;
  viewOf: (row: Row) => z.input<View>;
  find: ListHolders<Row>;
  /** For the list of what belongs to the user. */
  own?: Readonly<{ description: string }>;
}>;

/** The lists of public, own and shared teams or companies. */
export function listRoutes<Row, View extends z.ZodType>({
  ownerScope: { resource, tag, read: scope },
  plural,
  list,
  view,
  viewOf,
  find,
  own,
}: Lists<Row, View>): readonly Route[] {
  const things = plural.toLowerCase();
  const reply: z.ZodType = view;
  const shared = { method: "get", tag, scope, access: "user", list, reply, errors: [404] } as const;
  const belonging = ({ db }: Deps, which: Belonging, page: Part) =>
    listed(find(db, which, page), viewOf);
  return [
    route({
      ...shared,
      path: `/${resource}`,
      operationId: `list${plural}`,
      summary: `List public ${things}`,
      handle: ({ page }, deps) => belonging(deps, { which: "public" }, page),
    }),
    route({
      ...shared,
      ...own,
      path: `/${resource}/my`,
      operationId: `listOwn${plural}`,
      summary: `List the current user's ${things}`,
      handle: ({ page, request: { userId } }, deps) =>
        belonging(deps, { which: "mine", userId }, page),
    }),
    route({
      ...shared,
      path: `/${resource}/shared`,
      operationId: `listShared${plural}`,
      summary: `List ${things} that the current user takes part in`,
      handle: ({ page, request: { userId } }, deps) =>
        belonging(deps, { which: "shared", userId }, page),
    }),
  ];
}

/** The fields that a change of a team and of a company share. */
export const changeFields = {
  title: Title.optional(),
  description: Description.nullish(),
  isPrivate: bool().optional(),
  avatar: Link.nullish(),
  alias: Alias.optional(),
};

type UserRequest = RequestContext & Readonly<{ userId: UserId }>;
type Change<Details> = Readonly<{ alias: Alias | undefined; details: Partial<Details> }>;

/** Changes the alias, if another one is given, and the details. */
export async function changeHolder<State, Details, Schemas extends EventSchemas>(
  slice: Slice<State, HolderCommand<Details>, Schemas>,
  holder: Readonly<{ id: string; alias: string }>,
  { alias, details }: Change<Details>,
  request: UserRequest,
  deps: Deps,
): Promise<void> {
  const { id } = holder;
  const stamp = stampOf(request, deps);
  if (alias !== undefined && alias !== holder.alias) {
    mustNotBeReserved(alias);
    const command = { type: "ChangeAlias", alias, ...stamp } as const;
    const metadata = stepOf(await request.metadata(), "alias");
    await changeAlias(commandDeps(deps), slice, { id, command, metadata });
  }
  await request.execute(slice, id, { type: "ChangeDetails", details, ...stamp });
}

/** @throws Refusal `owner.not_empty` */
export async function deleteHolder<State, Details, Schemas extends EventSchemas>(
  slice: Slice<State, HolderCommand<Details>, Schemas>,
  id: string,
  request: UserRequest,
  deps: Deps,
): Promise<void> {
  const command = { type: "DeleteAliasHolder", ...stampOf(request, deps) } as const;
  const checking = { ...commandDeps(deps), owns: ownsByNow(deps) };
  await request.executeProcess((metadata) =>
    deleteAliasHolder(checking, slice, { id, command, metadata }),
  );
}
