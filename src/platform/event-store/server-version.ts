import type { EventStoreDBClient } from "@eventstore/db-client";

import { within } from "../time/within.ts";
import { StoreUnavailable, UnsupportedServer } from "./event-store.ts";
import { storeError } from "./eventstoredb-error.ts";

/** Lines of releases with long support, and the first patch of each that is supported. */
const lines: Readonly<Record<string, number>> = { "23.10": 6, "24.10": 5 };

/**
 * Reports what is wrong with a server of this version; see docs/operations.md.
 *
 * @param version as the server announces it, `24.10.5` or with more behind it
 * @returns undefined when it is supported
 */
export function serverVersionProblem(version: string): string | undefined {
  const [name = version, major, minor, patch] = /^(\d+)\.(\d+)\.(\d+)/.exec(version) ?? [];
  const first = lines[`${major}.${minor}`];
  const isSupported = first === undefined ? isNewer(name) : Number(patch) >= first;
  if (isSupported) return undefined;
  return (
    `EventStoreDB ${version} is not supported: ${faultOf(name)}. ` +
    "Use 23.10.6 or later of 23.10, 24.10.5 or later of 24.10, or 25.0.1 or later"
  );
}

/** From 25.0.1 on. */
const isNewer = (version: string): boolean =>
  Number.parseInt(version, 10) >= 25 && version !== "25.0.0";

function faultOf(version: string): string {
  if (version.startsWith("24.10.")) return "it reports checkpoints that are no positions";
  return version === "25.0.0"
    ? "it can leave out events after a reconnect"
    : "this release was never tried with it";
}

/** A server that accepts a connection and stays silent would hold up every first call for ever. */
const answerTimeoutMs = 5_000;
const silent = () => new StoreUnavailable("The event store does not answer");

/** An undeclared member of the client, which it queries from the server once for each connection. */
type Capable = Readonly<{ capabilities: Promise<Readonly<{ serverVersion: string }>> }>;

const supported = new WeakSet<EventStoreDBClient>();

/**
 * Checks once for each client; while the server cannot be reached, each call checks again.
 *
 * @throws UnsupportedServer, StoreUnavailable
 */
export async function mustBeSupported(client: EventStoreDBClient): Promise<void> {
  if (supported.has(client)) return;
  let version: string;
  try {
    const { capabilities } = client as unknown as Capable;
    version = (await within(answerTimeoutMs, capabilities, silent)).serverVersion;
  } catch (error) {
    throw storeError(error);
  }
  const problem = serverVersionProblem(version);
  if (problem !== undefined) throw new UnsupportedServer(problem);
  supported.add(client);
}
