import type { z } from "zod";
import type { UserView } from "../../api/user/view.ts";
import { userNamed } from "../common/choice.ts";
import { person } from "../common/piece.ts";
import { type Html, html } from "../core/html.ts";
import type { Visit } from "../core/route.ts";

type Owned = Readonly<{ ownerId: string }>;

/** Shows the owner of each of these; a dash for one who is there no more. */
export async function ownersOf(
  base: string,
  all: readonly Owned[],
  { operations }: Pick<Visit, "operations">,
): Promise<(one: Owned) => Html> {
  const ids = [...new Set(all.map(({ ownerId }) => ownerId))];
  const found = await Promise.all(ids.map((id) => userNamed(id, operations)));
  const known = new Map<string, z.output<typeof UserView> | undefined>(
    ids.map((id, index) => [id, found[index]]),
  );
  return ({ ownerId }) => {
    const owner = known.get(ownerId);
    return owner === undefined ? html`–` : person(base, owner);
  };
}
