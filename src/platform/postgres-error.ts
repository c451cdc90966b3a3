/**
 * SQLSTATEs after which the same statement may succeed: connection (08), transaction rollback (40),
 * out of resources (53), lock not available (55P03), operator intervention (57P).
 * https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
const transientStates = /^(?:08...|40...|53...|55P03|57P..)$/;

const transientNetwork = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EPIPE",
  "ETIMEDOUT",
]);

/** The code of Postgres for what went wrong; undefined for other errors. */
export function sqlState(error: unknown): string | undefined {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
}

/** A table or column is missing: those of this release are there once its read models are built. */
export const isUnbuilt = (error: unknown): boolean =>
  ["42P01", "42703"].includes(sqlState(error) ?? "");

/** True when Postgres could not be reached or gave up for now, false when it refused the statement. */
export function isTransient(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = "code" in error ? String(error.code) : "";
  if (transientStates.test(code) || transientNetwork.has(code)) return true;
  if (error.name === "KnexTimeoutError" || isMissingSocket(error)) return true;
  // pg gives these no code: the socket closed under a statement, or before one could be sent. Knex puts
  // the statement before the message.
  return /(?:^| - )Connection terminated|timeout expired|not queryable|Unable to acquire a connection/.test(
    error.message,
  );
}

/** The server is away that listens on a Unix socket; a missing file has another system call. */
function isMissingSocket(error: Error): boolean {
  const { code, syscall } = error as NodeJS.ErrnoException;
  return code === "ENOENT" && syscall === "connect";
}
