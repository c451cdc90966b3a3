import { setTimeout as delay } from "node:timers/promises";
import { timeoutSignal } from "../platform/time/timeout-signal.ts";
import { withoutTrailing } from "../platform/trim.ts";

/** An answer of the service that the agent does not expect. */
export class ServiceError extends Error {
  override readonly name = "ServiceError";

  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

type Body = string | Uint8Array | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>;

export type Sent = Readonly<{
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Below `/api/v4`, with a slash in front. */
  path: string;
  json?: unknown;
  body?: Body;
  headers?: Readonly<Record<string, string>>;
  signal?: AbortSignal;
  timeoutMs?: number;
}>;

export type Client = Readonly<{
  send: (sent: Sent) => Promise<Response>;
}>;

const timeoutMsDefault = 60_000;

/** Speaks to the service that an agent belongs to. Answers are for the caller to judge. */
export function openClient(url: string, userAgent: string): Client {
  const base = `${withoutTrailing(url, "/")}/api/v4`;
  return {
    async send({ method, path, json, body, headers, signal, timeoutMs = timeoutMsDefault }) {
      const content = json === undefined ? body : JSON.stringify(json);
      const over = timeoutSignal(timeoutMs);
      return fetch(`${base}${path}`, {
        method,
        headers: {
          "user-agent": userAgent,
          accept: "application/json",
          ...(json !== undefined && { "content-type": "application/json" }),
          ...headers,
        },
        // Tokens are for this service alone.
        redirect: "error",
        signal: signal === undefined ? over : AbortSignal.any([signal, over]),
        ...(content !== undefined && { body: content as RequestInit["body"] & Body }),
        ...(typeof content !== "string" && { duplex: "half" }),
      } as RequestInit);
    },
  };
}

const attemptsMax = 5;
const pauseMsFirst = 500;
const pauseMsMax = 10_000;

const isPassing = (status: number): boolean =>
  status === 408 || status === 429 || (status >= 500 && status !== 501);

/**
 * Tries a request again while the service is away or busy.
 *
 * @throws the last error of the connection; the signal's reason
 */
export async function persistently(
  sendOnce: () => Promise<Response>,
  signal?: AbortSignal,
): Promise<Response> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const answer = await sendOnce();
      if (!isPassing(answer.status) || attempt === attemptsMax) return answer;
      await answer.body?.cancel();
    } catch (error) {
      if (signal?.aborted === true || attempt === attemptsMax) throw error;
    }
    const pauseMs = Math.min(pauseMsMax, pauseMsFirst * 2 ** attempt);
    await delay(pauseMs, undefined, signal && { signal });
  }
}

const awayMsMax = 2 * 60_000;
const lookMs = 1_000;

/**
 * Waits for a service that does not answer.
 *
 * @returns whether it was away and answers again; false when it was there, or stays away
 */
export async function waitedForService(client: Client, signal: AbortSignal): Promise<boolean> {
  const deadline = Date.now() + awayMsMax;
  for (let looks = 0; Date.now() < deadline && !signal.aborted; looks += 1) {
    const answer = await client.send({ method: "GET", path: "/version", signal }).catch(() => null);
    await answer?.body?.cancel();
    // Any status will do: the service answers.
    if (answer !== null && !isPassing(answer.status)) return looks > 0;
    await delay(lookMs, undefined, { signal }).catch(() => undefined);
  }
  return false;
}

/** @throws ServiceError unless the answer has the status */
export async function mustAnswer(answer: Response, status: number, what: string): Promise<void> {
  if (answer.status === status) return;
  throw new ServiceError(answer.status, `${what}: ${answer.status} ${await messageOf(answer)}`);
}

const messageLengthMax = 500;

async function messageOf(answer: Response): Promise<string> {
  const text = await answer.text();
  try {
    const { message } = JSON.parse(text) as { message?: unknown };
    if (message !== undefined) return String(message).slice(0, messageLengthMax);
  } catch {
    // Not every proxy answers JSON.
  }
  return text.slice(0, messageLengthMax);
}
