import { type Alias, normaliseAlias } from "../../events/core/ids.ts";
import { aliasHolderStreams, aliasStream, emailStream } from "../../events/core/reservation.ts";
import { userStream } from "../../events/user/user.ts";
import type { EventStore } from "../../platform/event-store/event-store.ts";
import { currentState } from "../core/handle.ts";
import type { NameToReserve } from "../core/reserve-name.ts";
import { openFormers } from "./former-email.ts";
import { user } from "./user.ts";

/** E-mail addresses are unique without regard to case. */
export const normaliseEmail = (email: string): string => email.trim().toLowerCase();

/** An alias, for a user who is registered with it or takes it later. */
export function userAliasToReserve(
  store: EventStore,
  userId: string,
  alias: Alias,
  field = "alias",
): NameToReserve {
  return {
    name: aliasStream(alias),
    holderId: userId,
    holderStreams: aliasHolderStreams,
    async stillHolds(id) {
      const state = await currentState(store, user, id);
      // Absent means that the holder is a team or company. A forgotten user keeps the alias, so that
      // nobody can impersonate them.
      return state.status === "absent" || normaliseAlias(state.alias) === normaliseAlias(alias);
    },
    taken: {
      field,
      code: "alias.taken",
      message: "This alias is already taken.",
    },
  };
}

/** An e-mail, by its keyed digest. A former one is held for as long as it can be taken back. */
export function userEmailToReserve(
  { store, now }: Readonly<{ store: EventStore; now: () => string }>,
  userId: string,
  emailDigest: string,
): NameToReserve {
  return {
    name: emailStream(emailDigest),
    holderId: userId,
    holderStreams: (id) => [userStream(id)],
    async stillHolds(id) {
      const state = await currentState(store, user, id);
      if (state.status === "absent" || state.status === "forgotten") return false;
      const held = [state, ...openFormers(state, now())];
      return held.some((each) => each.emailDigest === emailDigest);
    },
    taken: {
      field: "email",
      code: "email.taken",
      message: "This e-mail is already in use.",
    },
  };
}
