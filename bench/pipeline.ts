import { figure, median, timed } from "./figure.ts";
import { withService } from "./service.ts";

/**
 * Milliseconds from the request that starts a pipeline of 1,000 jobs (100 stages of 10, then a chain
 * of needs) to the answer that shows it, against a pipeline of one job.
 */
const rounds = 5;
const stages = Array.from({ length: 100 }, (_, n) => `s${n}`);

const staged = [
  `stages: [${stages.join(", ")}]`,
  ...stages.flatMap((stage) =>
    Array.from({ length: 10 }, (_, n) => `${stage}-${n}: {stage: ${stage}, script: "true"}`),
  ),
].join("\n");
const chained = Array.from({ length: 1_000 }, (_, n) =>
  n === 0 ? "j0: {script: x}" : `j${n}: {script: x, needs: [j${n - 1}]}`,
).join("\n");

await withService(async ({ service, authorization, project }) => {
  const startedIn = async (name: string, content: string): Promise<number> => {
    await project(name);
    const base = `${service.url}/project/bench/${name}`;
    const post = async (path: string, body: object): Promise<void> => {
      const response = await fetch(`${base}${path}`, {
        method: "POST",
        headers: { authorization, "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      const text = await response.text();
      if (response.status !== 200) throw new Error(`${path} answered ${response.status}: ${text}`);
    };
    const action = { action: "CREATE", path: ".forge-ci.yaml", content };
    await post("/commit", { branch: "main", message: "Add [skip ci]", actions: [action] });
    const times: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      times.push(await timed(() => post("/cicd/pipeline/start", {})));
    }
    return median(times);
  };
  const one = await startedIn("one", "a: {script: x}");
  const baseline = { name: "one job", value: one };
  figure("start of 1,000 jobs in stages", "ms", await startedIn("staged", staged), baseline);
  figure("start of 1,000 jobs in a chain", "ms", await startedIn("chained", chained), baseline);
});
