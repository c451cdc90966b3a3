import type { LoginPage } from "../../../events/instance/settings.ts";
import type { ConnectionKind } from "../../../events/login/connection.ts";
import { listLoginConnections } from "../../../projections/login/connection.ts";
import type { Deps } from "../../core/deps.ts";

/** One way in: "Acme single sign-on", at a path of ours. */
export type LoginLink = Readonly<{ title: string; path: `/${string}` }>;

/** A way of logging in beside the password. Its pages end in `signIn`. */
export type LoginMethod = Readonly<{
  kind: Exclude<LoginPage, "BASIC">;
  /** A link for each connection that is switched on, leading on to `returnTo` in the end. */
  links: (deps: Deps, returnTo: string) => Promise<readonly LoginLink[]>;
}>;

/** More would make no login page. */
const linksMax = 50;

/** The buttons of the login page: one a connection that is enabled. */
export function connectionLinks(kind: ConnectionKind): LoginMethod {
  return {
    kind,
    async links({ db }, returnTo) {
      const page = { limit: linksMax, offset: 0, enabled: true };
      const { rows } = await listLoginConnections(db, kind, page);
      const query = new URLSearchParams({ returnTo });
      return rows.map(({ id, details: { name } }) => ({
        title: `Log in with ${name}`,
        path: `/login/${kind.toLowerCase()}/${id}?${query}` as const,
      }));
    },
  };
}
