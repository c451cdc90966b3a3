import { expect } from "chai";
import { AgentId, type AgentSettings } from "../../../src/events/agent/agent.ts";
import { deterministicId } from "../../../src/platform/deterministic-id.ts";
import type { TestApp } from "../app/app.ts";

export const agentId = AgentId.parse(deterministicId("agent"));

export const settings: AgentSettings = {
  name: "builder",
  description: "",
  active: true,
  tags: ["linux"],
  runUntagged: true,
  locked: true,
  protected: false,
  maxTimeoutInSec: null,
};

/** What gitlab-runner 19.4 says of itself with the shell executor, as far as the service reads it. */
export const info = {
  name: "gitlab-runner",
  version: "19.4.0",
  platform: "linux",
  architecture: "amd64",
  executor: "shell",
  shell: "bash",
  features: {
    variables: true,
    artifacts: true,
    upload_multiple_artifacts: true,
    upload_raw_artifacts: true,
    artifacts_exclude: true,
    refspecs: true,
    return_exit_code: true,
    multi_build_steps: true,
    fallback_cache_keys: true,
    cancelable: true,
    session: false,
  },
};

export type TestAgent = Readonly<{ id: string; number: number; token: string }>;

/** Registers an agent as gitlab-runner does. @param base `…/runners` of its owner */
export async function givenAgent(
  app: TestApp,
  owner: Readonly<{ base: string; token: string }>,
  over: Readonly<Record<string, unknown>> = {},
): Promise<TestAgent> {
  const { token } = owner;
  const shown = await app.get(`${owner.base}/registration-info`, { token });
  expect(shown.status, shown.text).to.equal(200);
  const body = { token: shown.body["registrationToken"], run_untagged: true, info, ...over };
  const answer = await app.post("/api/v4/runners", { body });
  expect(answer.status, answer.text).to.equal(201);
  const list = await app.get(owner.base, { token });
  const agents = (list.body["_embedded"] as { restPipelineRunnerModelList: { id: string }[] })
    .restPipelineRunnerModelList;
  const number = Number(answer.body["id"]);
  return { id: agents[0]?.id ?? "", number, token: String(answer.body["token"]) };
}
