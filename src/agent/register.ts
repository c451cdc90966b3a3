import { z } from "zod";

import { ConfigError } from "../config.ts";
import { agentInfo, userAgent } from "./about.ts";
import { mustAnswer, openClient, persistently, ServiceError } from "./client.ts";
import type { AgentConfig, ExecutorName } from "./config.ts";

const Registered = z.object({ token: z.string().min(1) });

export type Registration = Readonly<{
  url: string;
  /** From `registration-info` of a project, a company or the service. */
  registrationToken: string;
  name: string;
  tags: readonly string[];
  runUntagged: boolean;
  locked: boolean;
  executor: ExecutorName;
}>;

/**
 * Makes this machine an agent.
 *
 * @returns its token
 * @throws ConfigError when the service refuses it, or cannot be reached
 */
export async function registerAgent(registration: Registration): Promise<string> {
  const { url, registrationToken, name, tags, runUntagged, locked, executor } = registration;
  const json = {
    token: registrationToken,
    description: name,
    tag_list: tags.join(","),
    run_untagged: runUntagged,
    locked,
    info: agentInfo(executor),
  };
  return withReadableErrors(url, async () => {
    const client = openClient(url, userAgent);
    const answer = await persistently(() =>
      client.send({ method: "POST", path: "/runners", json }),
    );
    await mustAnswer(answer, 201, "The service refuses the registration");
    return Registered.parse(await answer.json()).token;
  });
}

/** Makes the token of an agent invalid. One that is invalid already is fine. */
export async function unregisterAgent({ url, token }: AgentConfig): Promise<void> {
  await withReadableErrors(url, async () => {
    const client = openClient(url, userAgent);
    const headers = { "runner-token": token };
    const answer = await persistently(() =>
      client.send({ method: "DELETE", path: "/runners", json: { token }, headers }),
    );
    if (answer.status !== 403) await mustAnswer(answer, 204, "The service refuses it");
  });
}

async function withReadableErrors<Result>(
  url: string,
  sendOnce: () => Promise<Result>,
): Promise<Result> {
  try {
    return await sendOnce();
  } catch (error) {
    if (error instanceof ServiceError) throw new ConfigError(error.message);
    if (!(error instanceof TypeError)) throw error;
    const { cause } = error;
    const why = cause instanceof Error ? cause.message : error.message;
    throw new ConfigError(`${url} cannot be reached: ${why}`);
  }
}
