import { givenAgent } from "./agent.ts";
import { agentTalk } from "./agent-job.ts";
import { startTestApp, type TestAppOptions } from "./app.ts";
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
