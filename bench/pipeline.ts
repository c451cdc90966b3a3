import { setTimeout as delay } from "node:timers/promises";

import { addPipelineFile, agentOf, startPipeline } from "./agents.ts";
import { figure, median, timed } from "./figure.ts";
import { type BenchService, withService } from "./service.ts";
import { roleMs, settled } from "./settled.ts";

/**
 * Milliseconds from the request that starts a pipeline of 1,000 jobs (100 stages of 10, then a chain
 * of needs) to the answer that shows it, against a pipeline of one job; then milliseconds of a processor in all
 * processes of the service for each of its jobs, from the start of the pipeline until it has succeeded, against those of
 * a pipeline of one job, each for a first and for another pipeline. The agents run nothing.
 *
 * node --import tsx bench/pipeline.ts [rounds] [stages of 10 jobs] [stages of those that are run]
 */
const rounds = Number(process.argv[2] ?? 5);
const stageCount = Number(process.argv[3] ?? 100);
const ranCount = Number(process.argv[4] ?? stageCount);
const agents = 4;
const jobs = stageCount * 10;
const ran = ranCount * 10;

function staged(count: number): string {
  const stages = Array.from({ length: count }, (_, n) => `s${n}`);
  const jobsOf = (stage: string) =>
    Array.from({ length: 10 }, (_, n) => `${stage}-${n}: {stage: ${stage}, script: "true"}`);
  return [`stages: [${stages.join(", ")}]`, ...stages.flatMap(jobsOf)].join("\n");
}

const chained = (count: number): string =>
  Array.from({ length: count }, (_, n) =>
    n === 0 ? "j0: {script: x}" : `j${n}: {script: x, needs: [j${n - 1}]}`,
  ).join("\n");

await withService(async (bench) => {
  const startedIn = async (name: string, content: string): Promise<number> => {
    await bench.project(name);
    await addPipelineFile(bench, name, content);
    const times: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      times.push(await timed(() => startPipeline(bench, name)));
    }
    return median(times);
  };
  const one = await startedIn("one", "a: {script: x}");
  const baseline = { name: "one job", value: one };
  figure(
    `start of ${jobs} jobs in stages`,
    "ms",
    await startedIn("staged", staged(stageCount)),
    baseline,
  );
  figure(
    `start of ${jobs} jobs in a chain`,
    "ms",
    await startedIn("chained", chained(jobs)),
    baseline,
  );

  const alone = { name: "one job", value: await overhead(bench, "run-one", "a: {script: x}", 1) };
  // Again: in a service that has been up for a while, the compiler of V8 knows what is called often.
  for (const [what, name, content] of [
    ["stages", "run-staged", staged(ranCount)],
    ["a chain", "run-chained", chained(ran)],
  ] as const) {
    figure(
      `processor for a job in ${what}`,
      "ms",
      await overhead(bench, name, content, ran),
      alone,
    );
    const again = await overhead(bench, `${name}-again`, content, ran);
    figure("the same of another pipeline", "ms", again, alone);
  }
});

/** Of the service, for each job of a pipeline. */
async function overhead(
  bench: BenchService,
  name: string,
  content: string,
  count: number,
): Promise<number> {
  await bench.project(name);
  await addPipelineFile(bench, name, content);
  const all = await Promise.all(Array.from({ length: agents }, () => agentOf(bench, name)));
  await settled(bench.service);
  const before = await roleMs(bench.service);
  const over = new AbortController();
  let done = 0;
  const running = all.map(async (agent) => {
    while (!over.signal.aborted) {
      const job = await agent.poll(over.signal).catch(() => undefined);
      if (job === undefined) continue;
      await agent.put(job, "running");
      await agent.put(job, "success");
      done += 1;
    }
  });
  const took = await timed(async () => {
    await startPipeline(bench, name);
    while (done < count) await delay(20);
  });
  await settled(bench.service);
  const after = await roleMs(bench.service);
  over.abort();
  await Promise.all(running);
  const each = [...after].map(
    ([role, ms]) => [role, (ms - (before.get(role) ?? 0)) / count] as const,
  );
  const shares = each.map(([role, ms]) => `${role} ${ms.toFixed(1)}`).join(", ");
  process.stdout.write(`${name}: ${count} jobs in ${(took / 1_000).toFixed(1)} s; ms: ${shares}\n`);
  return each.reduce((sum, [, ms]) => sum + ms, 0);
}
