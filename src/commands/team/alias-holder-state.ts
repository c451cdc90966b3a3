import { isDeepStrictEqual } from "node:util";

import type { Alias, UserId } from "../../events/core/ids.ts";

/** A team or company that exists. */
export type ActiveHolder<Details> = Readonly<{ status: "active"; alias: Alias; details: Details }>;

export type HolderState<Active> = Readonly<{ status: "absent" | "deleted" }> | Active;

type Stamp = Readonly<{ by: UserId; at: string }>;
export type ChangeDetails<Details> = Stamp &
  Readonly<{ type: "ChangeDetails"; details: Partial<Details> }>;
export type ChangeAlias = Stamp & Readonly<{ type: "ChangeAlias"; alias: Alias }>;
export type DeleteAliasHolder = Stamp & Readonly<{ type: "DeleteAliasHolder" }>;

/** The commands that teams and companies share. */
export type HolderCommand<Details> = ChangeDetails<Details> | ChangeAlias | DeleteAliasHolder;

/**
 * The data of the event that changes details; undefined when they are the same already. Sealing a text
 * twice gives two texts: that counts as a change.
 */
export function detailsChange<Details extends object>(
  { details: previous }: ActiveHolder<Details>,
  { details: given, by: changedById, at: changedAt }: ChangeDetails<Details>,
) {
  const details = { ...previous, ...given };
  if (isDeepStrictEqual(details, previous)) return undefined;
  return { details, previous, changedById, changedAt };
}

/** The data of the event that changes the alias; undefined when it is the same already. */
export function aliasChange(
  { alias: previousAlias }: ActiveHolder<unknown>,
  { alias, by: changedById, at: changedAt }: ChangeAlias,
) {
  if (alias === previousAlias) return undefined;
  return { alias, previousAlias, changedById, changedAt };
}

/** The state with these parts changed, while it is active. */
export const withChange = <Active extends ActiveHolder<unknown>>(
  state: HolderState<Active>,
  over: Partial<Omit<Active, "status">>,
): HolderState<Active> => (state.status === "active" ? { ...state, ...over } : state);
