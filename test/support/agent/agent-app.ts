import { startTestApp, type TestAppOptions } from "../app/app.ts";
import { givenAgent } from "./agent.ts";
import { agentTalk } from "./agent-job.ts";
import { pipelinesOf } from "./pipeline-app.ts";

type Options = TestAppOptions &
  Readonly<{
    /** What the agent says of itself when it registers. */
    agent?: Readonly<Record<string, unknown>>;
  }>;

/** An app with a project and an agent of it; see `startTestApp`. */
export async function startAppWithAgent({ agent: about, ...options }: Options = {}) {
  const app = await startTestApp(options);
  const anna = await app.givenUser("anna");
  const { token } = anna;
  const search = await app.givenProject(anna, "search");
  const at = pipelinesOf(app, anna, search);
  const runners = { base: `${at.base}/runners`, token };
  const agent = await givenAgent(app, runners, about);
  return { app, anna, token, search, at, runners, agent, ...agentTalk(app, agent.token) };
}

/** Pipelines with a job `build`. */
export function buildsOf(at: ReturnType<typeof pipelinesOf>) {
  let committed = "";
  return {
    async givenPipeline(more = "") {
      const file = `build:\n  script: [make]\n${more}`;
      if (file !== committed) await at.commit({ ".forge-ci.yaml": file });
      committed = file;
      return at.start();
    },
    statusOf: async (pipeline: Readonly<Record<string, unknown>>) =>
      (await at.statuses(pipeline["localId"]))["build"],
  };
}
