import { expect } from "chai";

import type { Route } from "../../../src/http/core/route.ts";
import type { Answer, TestApp } from "../app/app.ts";
import { pathOf, sampleBody, sampleQuery, type Values } from "../app/world.ts";

/** Who calls, as a failure names it. */
export type Caller = Readonly<{ name: string; token?: string | undefined }>;

/** One request of a route. What is not given is the documented example. */
export type Call = Readonly<{
  route: Route;
  by: Caller;
  values: Values;
  body?: unknown;
  query?: string;
  /** JSON when not given. */
  contentType?: string;
}>;

export type Calls = ReturnType<typeof callsTo>;

/** Sends calls and holds the answers against what is expected of them. */
export function callsTo(app: TestApp) {
  function send(call: Call): Promise<Answer> {
    const { route, by, values, body = sampleBody(route), query } = call;
    const headers = { "content-type": call.contentType ?? "application/json" };
    const at = pathOf(route, values) + (query ?? sampleQuery(route));
    return app.send(route.method.toUpperCase(), at, {
      ...(by.token === undefined ? {} : { token: by.token }),
      ...(body === undefined ? {} : { body }),
      ...(typeof body === "string" ? { headers } : {}),
    });
  }

  /** The answer has one of the statuses. */
  async function answers(call: Call, statuses: readonly number[]): Promise<Answer> {
    const answer = await send(call);
    mustBe(statuses.includes(answer.status), statuses.join(" or "), call, answer);
    return answer;
  }

  /** The refusal is whole and well-formed. */
  async function refuses(call: Call, status: number, code?: string): Promise<Answer> {
    const answer = await send(call);
    const { body, headers } = answer;
    const asExpected = answer.status === status && (code === undefined || body["code"] === code);
    mustBe(asExpected, `${status} ${code ?? ""}`.trim(), call, answer);
    expect(headers.get("content-type")).to.equal("application/problem+json");
    expect(body).to.include({
      status,
      type: "about:blank",
      requestId: headers.get("x-request-id"),
    });
    expect(body["message"]).to.equal(body["detail"]);
    return answer;
  }

  return { send, answers, refuses };
}

/** Fails in words of what was called, by whom, what was expected and what came. */
export function mustBe(holds: boolean, expected: string, call: Call, answer: Answer): void {
  if (holds) return;
  const { route, by, values, query = "" } = call;
  const { status, body, text } = answer;
  expect.fail(
    `${route.method.toUpperCase()} ${pathOf(route, values)}${query} called by ${by.name}: ` +
      `expected ${expected}, got ${`${status} ${String(body["code"] ?? "")}`.trim()}\n` +
      `declared as ${route.path}, answered ${text.slice(0, 300)}`,
  );
}

/** Neither what is refused nor what is read leaves a trace in the log. */
export function untouchedLog(app: TestApp) {
  let end: bigint | undefined;
  /** What is given beside the tests is no trace. */
  const accept = async () => {
    end = await app.head();
  };
  const leavesNoTrace = (run: () => Promise<unknown>) => async () => {
    await run();
    const before = end;
    await accept();
    expect(end, "the end of the log, where a refused call must append nothing").to.equal(before);
  };
  return { accept, leavesNoTrace };
}
