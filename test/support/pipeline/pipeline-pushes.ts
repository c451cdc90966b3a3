import { pipelinesOf } from "../agent/pipeline-app.ts";
import { startTestApp } from "../app/app.ts";

export const twoStages = `
stages: [build, test]
compile: {stage: build, script: make}
unit: {stage: test, script: make test}
lint: {stage: test, script: make lint, allow_failure: true}
`;

export const file = ".forge-ci.yaml";

export async function givenPipelinePushes() {
  const app = await startTestApp({ workers: true });
  const anna = await app.givenUser("anna");
  let projects = 0;
  async function givenPipelines(isPrivate = true) {
    projects += 1;
    const project = await app.givenProject(anna, `project${projects}`, { private: isPrivate });
    return pipelinesOf(app, anna, project);
  }
  const post = (at: string, token: string) => app.post(at, { token });
  return {
    ...{ app, anna, givenPipelines, post },
  };
}
