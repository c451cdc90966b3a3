import { exportEvents } from "../projections/audit/event-export.ts";
import { writeLines } from "./lines.ts";
import { withStores } from "./stores.ts";
import { write } from "./write.ts";

const exitUsage = 64;

/** `events export`: the whole log as JSON lines, personal data in clear where it still can be read. */
export async function run(args: readonly string[]): Promise<number> {
  if (args.length !== 1 || args[0] !== "export") {
    write(process.stderr, "Usage: ledgerforge events export > events.jsonl\n");
    return exitUsage;
  }
  return withStores("events", async ({ store, vault }) => {
    await writeLines(exportEvents(store, vault.open));
    return 0;
  });
}
