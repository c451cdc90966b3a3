import type { EventStoreDBClient } from "@eventstore/db-client";

import { UnsupportedServer } from "./event-store.ts";
import { storeError } from "./eventstoredb-error.ts";

type Version = readonly [major: number, minor: number, patch: number];

const oldest: Version = [24, 10, 5];
/** Known to lose events after a reconnect: it resumes behind some that it has not sent. */
const broken: readonly string[] = ["25.0.0"];

/**
 * Reports what is wrong with a server of this version; see docs/operations.md.
 *
 * @param version as the server announces it, `24.10.5` or with more behind it
 * @returns undefined when it is supported
 */
export function serverVersionProblem(version: string): string | undefined {
  const found = /^(\d+)\.(\d+)\.(\d+)/.exec(version);
  const [name, ...parts] = found ?? [version];
  const isSupported =
    found !== null && isAtLeast(parts.map(Number), oldest) && !broken.includes(name);
  if (isSupported) return undefined;
  return (
    `EventStoreDB ${version} is not supported: it loses events or positions. ` +
    "Use 24.10.5 or later of 24.10, or 25.0.1 or later"
  );
}

function isAtLeast(version: readonly number[], least: Version): boolean {
  for (const [index, part] of least.entries()) {
    const difference = (version[index] ?? 0) - part;
    if (difference !== 0) return difference > 0;
  }
  return true;
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
