import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";

import { type Answer, type Send, sender } from "../support/app/app.ts";
import type { History } from "./history.ts";

/** Statuses after which the same request is sent again. */
const mayPass = new Set([0, 409, 429, 502, 503]);
const pauseMs = 50;

export type Client = ReturnType<typeof chaosClient>;

/** Sends what a careful client sends: the same request with the same key until it has an outcome. */
export function chaosClient(url: string, history: History, signal: AbortSignal) {
  const send = sender(url);

  async function once(kind: string, method: string, at: string, options: Send): Promise<Answer> {
    const nothing = { status: 0, body: {}, text: "", headers: new Headers() };
    const answer = await send(method, at, options).catch(() => nothing);
    const detail = answer.status >= 400 ? answer.text.slice(0, 300) : "";
    history.note({
      kind,
      what: `${method} ${at}`,
      status: answer.status,
      ...(detail && { detail }),
    });
    return answer;
  }

  return {
    read: (at: string, token: string) => once("read", "GET", at, { token }),
    /** @returns the outcome; undefined when the run ended before there was one */
    async write(method: string, at: string, options: Send): Promise<Answer | undefined> {
      const headers = { ...options.headers, "idempotency-key": randomUUID() };
      while (!signal.aborted) {
        const answer = await once("write", method, at, { ...options, headers });
        if (!mayPass.has(answer.status)) return answer;
        await delay(pauseMs);
      }
      return undefined;
    },
  };
}
