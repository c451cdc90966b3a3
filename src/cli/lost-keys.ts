import { findLostKeys, noteLostKeys } from "../projections/audit/lost-keys.ts";
import { withOfflineStores } from "./offline-stores.ts";
import { stopSignal } from "./stop-signal.ts";
import { write } from "./write.ts";

const closeLimitMs = 10_000;

/** `events note-lost-keys`: accepts that keys are lost, so that what they sealed reads as forgotten. */
export async function runNoteLostKeys(): Promise<number> {
  const { signal } = stopSignal(closeLimitMs);
  const lost = await withOfflineStores("events", signal, async (stores) => {
    const { secretKey } = stores.config;
    const found = await findLostKeys({ ...stores, secretKey }, signal);
    await noteLostKeys(stores.db, found);
    return found;
  });
  const count = lost.keyless.length + lost.replaced.length + lost.wrappedByOther.length;
  write(
    process.stdout,
    count === 0
      ? "No keys are lost.\n"
      : `Keys of ${count} people, projects and others are lost: what the log has sealed for them reads as ` +
          "forgotten from now on.\n",
  );
  return 0;
}
