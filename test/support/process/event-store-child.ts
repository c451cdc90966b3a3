import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

import { nodeArgs } from "../compiled.ts";

export type EventStoreChild = Readonly<{
  url: string;
  port: number;
  process: ChildProcess;
  /** SIGKILL, and the wait for it to have worked. */
  kill: () => Promise<void>;
}>;

/** The embedded server in a process of its own; a free port when 0. The caller kills it. */
export async function spawnEventStore(databaseUrl: string, port = 0): Promise<EventStoreChild> {
  const program = nodeArgs("test/support/process/event-store-process.ts");
  const child = spawn(process.execPath, [...program, String(port)], {
    // Command lines are shown to every user of the machine.
    env: { ...process.env, DATABASE_URL: databaseUrl },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [url] = (await once(createInterface(child.stdout), "line")) as [string];
  return {
    url,
    port: Number(new URL(url).port),
    process: child,
    kill: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill("SIGKILL");
      await once(child, "exit");
    },
  };
}
