import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";

import { secretKey } from "../app/app.ts";
import { build, program } from "../app/service.ts";

type Beside = Readonly<{ databaseUrl: string; eventStoreUrl: string; dataDir: string }>;

/** The program as the operator runs it, beside a service of this process. */
export async function runCli(service: Beside, ...args: string[]) {
  build();
  const child = spawn(process.execPath, [program, ...args], {
    env: {
      ...process.env,
      DATABASE_URL: service.databaseUrl,
      EVENTSTORE_URL: service.eventStoreUrl,
      SECRET_KEY: secretKey,
      DATA_DIR: service.dataDir,
      LOG_LEVEL: "silent",
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [[code], out, err] = await Promise.all([
    once(child, "exit"),
    text(child.stdout),
    text(child.stderr),
  ]);
  return { code: Number(code), out: out + err };
}
