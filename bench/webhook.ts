import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as pause } from "node:timers/promises";

import { handle } from "../src/commands/core/handle.ts";
import { webhookDelivery } from "../src/commands/webhook/delivery.ts";
import { webhook } from "../src/commands/webhook/webhook.ts";
import { readSettings, requireStores } from "../src/config.ts";
import { startPostgres } from "../src/embedded/postgres/server.ts";
import { ProjectId, UserId, WebhookDeliveryId, WebhookId } from "../src/events/core/ids.ts";
import { openGit } from "../src/git/repositories.ts";
import { openPlatform } from "../src/main.ts";
import { openBlobs } from "../src/platform/blob/open.ts";
import { openQueues } from "../src/platform/queue/queue.ts";
import { startProjections } from "../src/projections/role.ts";
import { startWorkers } from "../src/workers/role.ts";
import { metadataFor } from "../test/support/app/history.ts";
import { spawnEventStore } from "../test/support/process/event-store-child.ts";

/**
 * Delivers what was scheduled to webhooks of one receiver: reactor, line, job, signed request, the
 * attempt as an event. Against bare posts of the same body by node:http, as many at a time as the
 * worker makes. Receiver, projections and workers share this process.
 */
const webhookCount = 20;
const deliveryCount = 500;
const body = JSON.stringify({ action: "BRANCH_UPDATE", filler: "x".repeat(4_000) });

let received = 0;
const receiver = createServer((incoming, answer) => {
  incoming.resume().once("end", () => {
    received += 1;
    answer.end("ok");
  });
}).listen(0, "127.0.0.1");
await once(receiver, "listening");
const { port } = receiver.address() as AddressInfo;

const dataDir = await mkdtemp(path.join(tmpdir(), "ledgerforge-bench-"));
const postgres = await startPostgres({ dataDir });
const server = await spawnEventStore(postgres.url);
const config = requireStores(
  readSettings({
    DATA_DIR: dataDir,
    DATABASE_URL: postgres.url,
    EVENTSTORE_URL: server.url,
    SECRET_KEY: "a secret key of the benchmark, long enough",
    OUTBOUND_ALLOW: "127.0.0.1/32",
    LOG_LEVEL: "error",
  }),
);
const platform = await openPlatform(config, "bench");
const { log } = platform;
const queues = await openQueues({ databaseUrl: postgres.url, log });
const git = openGit({ dataDir, log });
const blobs = await openBlobs({ dataDir }, platform.db);
const projections = await startProjections(platform);
try {
  await bare(200);
  const baseline = await bare(deliveryCount);
  const delivered = await deliver();
  process.stdout.write(
    `webhooks: ${delivered} deliveries/s to ${webhookCount} webhooks; ` +
      `bare posts by node:http: ${baseline}/s; ratio ${(delivered / baseline).toFixed(3)}\n`,
  );
} finally {
  await projections.close();
  await git.close();
  await queues.close();
  await platform.close();
  await server.kill();
  await postgres.close();
  receiver.close();
  await rm(dataDir, { recursive: true, force: true });
}

async function bare(count: number): Promise<number> {
  const started = performance.now();
  let left = count;
  const posting = Array.from({ length: 20 }, async () => {
    while (left > 0) {
      left -= 1;
      await post();
    }
  });
  await Promise.all(posting);
  return perSecond(count, started);
}

function post(): Promise<void> {
  return new Promise((resolve, reject) => {
    const options = { method: "POST", port, agent: false } as const;
    request({ host: "127.0.0.1", ...options }, (answer) => answer.resume().once("end", resolve))
      .once("error", reject)
      .end(body);
  });
}

/** Scheduled before the workers start, so that they alone are measured. */
async function deliver(): Promise<number> {
  const projectId = ProjectId.parse(randomUUID());
  const webhookIds = await Promise.all(
    Array.from({ length: webhookCount }, () => createWebhook(projectId)),
  );
  await Promise.all(
    webhookIds.map(async (webhookId) => {
      for (let n = 0; n < deliveryCount / webhookCount; n += 1)
        await schedule(projectId, webhookId);
    }),
  );
  received = 0;
  const started = performance.now();
  const workers = await startWorkers({ ...platform, blobs, queues, git });
  while (received < deliveryCount) await pause(5);
  const rate = perSecond(deliveryCount, started);
  await workers.close();
  return rate;
}

async function createWebhook(projectId: ProjectId): Promise<WebhookId> {
  const webhookId = WebhookId.parse(randomUUID());
  const { vault, store } = platform;
  const command = {
    type: "CreateWebhook",
    webhookId,
    projectId,
    url: `http://127.0.0.1:${port}/`,
    secret: await vault.seal(`project-${projectId}`, "s3cret"),
    topics: ["BRANCH_UPDATE"],
    by: UserId.parse(randomUUID()),
    at: new Date().toISOString(),
  } as const;
  await handle(store, webhook, { id: webhookId, command, metadata: metadataFor(randomUUID()) });
  return webhookId;
}

async function schedule(projectId: ProjectId, webhookId: WebhookId): Promise<void> {
  const deliveryId = WebhookDeliveryId.parse(randomUUID());
  const command = {
    type: "ScheduleDelivery",
    deliveryId,
    webhookId,
    projectId,
    action: "BRANCH_UPDATE",
    body: await platform.vault.seal(`project-${projectId}`, body),
    redeliveryOf: null,
    at: new Date().toISOString(),
  } as const;
  const metadata = metadataFor(randomUUID());
  await handle(platform.store, webhookDelivery, { id: deliveryId, command, metadata });
}

function perSecond(count: number, started: number): number {
  return Math.round((count * 1_000) / (performance.now() - started));
}
