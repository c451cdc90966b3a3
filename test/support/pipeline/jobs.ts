import { pipelinesOf } from "../agent/pipeline-app.ts";
import { startTestApp } from "../app/app.ts";

export const file = ".forge-ci.yaml";

export async function givenJobs() {
  const app = await startTestApp({ workers: true });
  const anna = await app.givenUser("anna");
  let projects = 0;
  async function givenPipelines() {
    projects += 1;
    const project = await app.givenProject(anna, `project${projects}`, { private: true });
    return pipelinesOf(app, anna, project);
  }
  return {
    ...{ app, anna, givenPipelines },
  };
}
