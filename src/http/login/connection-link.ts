import type { ConnectionKind } from "../../events/login/connection.ts";
import { listLoginConnections } from "../../projections/login/connection.ts";
import type { LoginMethod } from "./method.ts";

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
