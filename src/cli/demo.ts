import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { inheritedEnvironment } from "../config.ts";
import { openApi } from "./demo/api.ts";
import { gitSteps } from "./demo/git-steps.ts";
import { pipelineSteps } from "./demo/pipeline-steps.ts";
import { startReceiver } from "./demo/receiver.ts";
import { startService } from "./demo/service.ts";
import { openShell } from "./demo/shell.ts";
import { accountSteps, type Demo, historySteps, projectSteps, readingSteps } from "./demo/steps.ts";
import { deliverySteps, webhookSteps } from "./demo/webhook-steps.ts";

const password = "a demonstration password";

/**
 * Drives the whole round with real programs (curl, git) against a service of its own in a temporary
 * folder, and shows every step with its result.
 *
 * @returns the exit code: 0 when every step did what it should.
 */
export async function run(): Promise<number> {
  const write = (text: string) => process.stdout.write(text);
  const folder = await mkdtemp(path.join(tmpdir(), "ledgerforge-demo-"));
  const receiver = await startReceiver();
  const shell = openShell(write, inheritedEnvironment());
  shell.hide(password);
  try {
    write("Starting a service of its own …\n");
    const settings = {
      ADMIN_PASSWORD: password,
      OUTBOUND_ALLOW: `127.0.0.1:${receiver.port}`,
      LOG_LEVEL: "warn",
    };
    const service = await startService(folder, settings, inheritedEnvironment());
    write(`Ready after ${service.startedInMs} ms at ${service.url}\n`);
    try {
      const api = openApi(shell, service.url);
      const demo = { shell, service, api, receiver, folder, password, facts: new Map() };
      return await runSteps(demo, write);
    } finally {
      const code = await service.stop();
      write(`Stopped by Ctrl-C with exit code ${code}\n`);
    }
  } finally {
    receiver.close();
    await rm(folder, { recursive: true, force: true });
  }
}

async function runSteps(demo: Demo, write: (text: string) => void): Promise<number> {
  const steps = [
    ...accountSteps,
    ...projectSteps,
    ...webhookSteps,
    ...gitSteps,
    ...deliverySteps,
    ...readingSteps,
    ...pipelineSteps,
    ...historySteps,
  ];
  for (const [index, step] of steps.entries()) {
    write(`\n[${index + 1}/${steps.length}] ${step.title}\n`);
    try {
      write(`    ✔ ${await step.run(demo)}\n`);
    } catch (error) {
      write(`    ✘ ${error instanceof Error ? error.message : String(error)}\n`);
      return 1;
    }
  }
  write(`\nAll ${steps.length} steps did what they should.\n`);
  return 0;
}
