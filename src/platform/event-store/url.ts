import { createRequire } from "node:module";

const load = createRequire(import.meta.url);

/**
 * Reads the address as the client does: several nodes and `esdb+discover://` are no URLs.
 *
 * @returns what is wrong with it, without a part of it, which may be the password; undefined when nothing is
 */
export function eventStoreUrlProblem(url: string): string | undefined {
  if (url.startsWith("esdb+unix:")) {
    return URL.canParse(url) ? undefined : "must name a socket by its absolute path";
  }
  // Loaded when it is needed: most commands have no such address.
  const parser: typeof import("@eventstore/db-client/dist/Client/parseConnectionString.js") = load(
    "@eventstore/db-client/dist/Client/parseConnectionString.js",
  );
  try {
    const { throwOnAppendFailure } = parser.parseConnectionString(url);
    if (throwOnAppendFailure === false) return "must leave out throwOnAppendFailure";
    return undefined;
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    const where = /at position (\d+), expected (.+)$/s.exec(text);
    if (where === null) return "must be an address of EventStoreDB";
    return `must have ${where[2]?.replace(/\.$/, "")} at position ${where[1]}`;
  }
}
