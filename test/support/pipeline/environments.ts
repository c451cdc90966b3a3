import { expect } from "chai";
import { pipelinesOf, type View } from "../agent/pipeline-app.ts";
import { startTestApp } from "../app/app.ts";
import { eventually } from "../app/eventually.ts";

const file = ".forge-ci.yaml";

export const review = `
deploy:
  script: x
  environment:
    name: review/$CI_COMMIT_REF_NAME
    url: https://$CI_ENVIRONMENT_SLUG.example.com
    on_stop: undeploy
    deployment_tier: development
    auto_stop_in: 1 day
undeploy:
  script: x
  rules: [{when: manual, allow_failure: true}]
  environment: {name: review/$CI_COMMIT_REF_NAME, action: stop}
`;

export async function givenEnvironments() {
  const app = await startTestApp({ workers: true });
  const anna = await app.givenUser("anna");
  const bob = await app.givenUser("bob");
  const { token } = anna;
  let projects = 0;
  async function given(yaml: string) {
    projects += 1;
    const project = await app.givenProject(anna, `project${projects}`, { private: true });
    const ci = pipelinesOf(app, anna, project);
    const body = { userAlias: bob.alias, role: "DEVELOPER" };
    const joined = await app.post(`${ci.base}/member/invite`, { token, body });
    expect(joined.status, joined.text).to.equal(200);
    await ci.commit({ [file]: yaml }, "Add pipelines [skip ci]");
    const path = `${ci.base}/environment`;

    async function environments(query = ""): Promise<readonly View[]> {
      const { body: page, text } = await app.get(`${path}${query}`, { token });
      const list = (page["_embedded"] as { environmentList?: View[] } | undefined)?.environmentList;
      expect(list, text).to.be.an("array");
      return list ?? [];
    }

    async function deployments(id: unknown, query = ""): Promise<readonly View[]> {
      const { body: page } = await app.get(`${path}/${id}/deployment${query}`, { token });
      return (page["_embedded"] as { deploymentList: View[] }).deploymentList;
    }

    async function protect(environmentTemplate: string, allowToDeploy: string) {
      const rule = { environmentTemplate, allowToDeploy };
      const made = await app.post(`${ci.base}/environment-protection/create`, {
        token,
        body: rule,
      });
      expect(made.status, made.text).to.equal(200);
    }

    const stop = (id: unknown, by = anna, options = {}) =>
      app.post(`${path}/${id}/stop`, { token: by.token, body: options });

    /** The answer may come before all read models show what others did at the same time. */
    async function stops(id: unknown, state: string) {
      const answer = await stop(id);
      expect(answer.status, answer.text).to.equal(200);
      await eventually(async () =>
        expect((await app.get(`${path}/${id}`, { token })).body["state"]).to.equal(state),
      );
    }

    /** The first environment, once there is one. */
    const first = (query = "") =>
      eventually(async () => {
        const [found] = await environments(query);
        expect(found).to.be.an("object");
        return found!;
      });

    /** Once jobs are queued and their ends are worked on. */
    const settled = (localId: unknown, expected: Readonly<Record<string, string>>) =>
      eventually(async () => expect(await ci.statuses(localId)).to.deep.equal(expected));

    return { project, ci, path, environments, first, deployments, protect, stop, stops, settled };
  }
  return {
    ...{ app, anna, bob, token, given },
  };
}
