import { userStream } from "../../events/user.ts";
import type { NameToReserve } from "./reserve-name.ts";

/** The fingerprint of a user's key, as a name that one account of the instance holds while it has the key. */
export function fingerprintToReserve(
  key: Readonly<{ userId: string; fingerprint: string }>,
  {
    stream,
    fingerprintsOf,
    taken,
  }: Readonly<{
    stream: (fingerprint: string) => string;
    /** Of the keys that somebody has, by key id. */
    fingerprintsOf: (userId: string) => Promise<ReadonlyMap<string, string>>;
    taken: NameToReserve["taken"];
  }>,
): NameToReserve {
  return {
    name: stream(key.fingerprint),
    holderId: key.userId,
    holderStreams: (id) => [userStream(id)],
    stillHolds: async (id) => [...(await fingerprintsOf(id)).values()].includes(key.fingerprint),
    taken,
  };
}
