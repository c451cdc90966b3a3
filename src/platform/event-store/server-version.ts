import type { EventStoreDBClient } from "@eventstore/db-client";
import semver from "semver";

import { UnsupportedServer } from "./event-store.ts";
import { storeError } from "./eventstoredb-error.ts";

const oldest = "24.10.5";
/** Known to lose events after a reconnect: it resumes behind some that it has not sent. */
const broken: readonly string[] = ["25.0.0"];

/**
 * Reports what is wrong with a server of this version; see docs/operations.md.
 *
 * @param version as the server announces it, `24.10.5` or with more behind it
 * @returns undefined when it is supported
 */
export function serverVersionProblem(version: string): string | undefined {
  const [release] = /^\d+\.\d+\.\d+/.exec(version) ?? [];
  const isSupported =
    release !== undefined && semver.gte(release, oldest, true) && !broken.includes(release);
  if (isSupported) return undefined;
  return (
    `EventStoreDB ${version} is not supported: it loses events or positions. ` +
    "Use 24.10.5 or later of 24.10, or 25.0.1 or later"
  );
}

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
    version = (await (client as unknown as Capable).capabilities).serverVersion;
  } catch (error) {
    throw storeError(error);
  }
  const problem = serverVersionProblem(version);
  if (problem !== undefined) throw new UnsupportedServer(problem);
  supported.add(client);
}
