import { randomUUID } from "node:crypto";
import { expect } from "chai";

import type { Route } from "../../../src/http/core/route.ts";
import { parametersOf, rightful, sampleBody } from "../app/world.ts";
import { mustBe } from "./call.ts";
import type { Check, Given } from "./matrix.ts";
import { inTurn, pairwise } from "./sample.ts";

const wrongNames = ["../x", "a/b", "-x\0", "%", "x".repeat(300), "a b"];
const wrongPages = ["page=-1", "size=0", "size=x", "page=1.5", "size=-5"];
const wrongBodies: readonly unknown[] = [[], [1], "text", 5, {}];

const isUnknownId = (name: string) => /uuid$/i.test(name) && name !== "projectUuid";
const takesJson = (route: Route): boolean =>
  route.body !== undefined && route.access !== "basic" && route.form !== true;

/** What those who may call a route may not send. */
export function inputChecks(given: Given): readonly Check[] {
  const { world, calls, extent } = given;
  const right = (route: Route) => ({
    name: "who may call it",
    token: rightful(route, world).token,
  });
  const isToBeTried = pairwise(extent);
  const some = inTurn(extent === "whole" ? wrongPages.length : 2);

  return [
    {
      title: "finds nothing at a parameter that is malformed",
      appliesTo: (route) => parametersOf(route).length > 0,
      coversOnce: (route) => parametersOf(route).join(),
      async run(route) {
        // An invalid name of a generic package is answered 422.
        const invalidName = /\/generic\//.test(route.path) && route.method === "put" ? [422] : [];
        // In a sample each name meets each wrong value once, and each route one of them.
        let sent = 0;
        for (const name of parametersOf(route)) {
          for (const wrong of wrongNames) {
            if (!isToBeTried(name, wrong) && sent > 0) continue;
            sent += 1;
            const values = { ...world.open, [name]: wrong };
            const call = { route, by: right(route), values };
            await calls.answers(call, [404, 405, ...invalidName]);
          }
        }
      },
    },
    {
      title: "finds nothing under an id that does not exist",
      appliesTo: (route) => parametersOf(route).some(isUnknownId),
      differsBy: (route) => parametersOf(route).join(),
      async run(route) {
        const unknown = parametersOf(route).filter(isUnknownId);
        const ids = Object.fromEntries(unknown.map((name) => [name, randomUUID()]));
        await calls.refuses({ route, by: right(route), values: { ...world.open, ...ids } }, 404);
      },
    },
    {
      title: "takes the body that it documents",
      appliesTo: ({ body, form }) => body !== undefined && form !== true,
      run: async (route) => expect(() => route.body?.parse(sampleBody(route))).not.to.throw(),
    },
    {
      title: "refuses a client of OAuth that does not authenticate, as OAuth says",
      appliesTo: ({ access, form }) => access === "client" && form === true,
      run: (route) => refusesClients(route, given),
    },
    {
      title: "refuses a body that is not JSON, or not of its form",
      appliesTo: takesJson,
      run: (route) => refusesBodies(route, given, some(refusedBodies(route))),
    },
    {
      title: "refuses a page that is no number, and limits its size",
      appliesTo: ({ list }) => list !== undefined,
      run: (route) => limitsPages(route, given, some(wrongPages)),
    },
  ];
}

const refusedBodies = ({ body }: Route): readonly unknown[] =>
  wrongBodies.filter((wrong) => body?.safeParse(wrong).success !== true);

async function refusesBodies(
  route: Route,
  { world, calls }: Given,
  wrong: readonly unknown[],
): Promise<void> {
  const by = { name: "who may call it", token: rightful(route, world).token };
  const call = { route, by, values: world.open };
  await calls.refuses({ ...call, body: "{" }, 400, "body.not_json");
  for (const each of wrong) {
    const body = JSON.stringify(each);
    const { errors } = (await calls.refuses({ ...call, body }, 422, "request.invalid")).body;
    expect(errors, `errors of ${body}`).to.be.an("array").that.is.not.empty;
  }
}

async function refusesClients(route: Route, { calls }: Given): Promise<void> {
  for (const [type, body] of [
    ["application/x-www-form-urlencoded", "client_id=x&client_secret=y"],
    ["application/json", "{}"],
  ] as const) {
    const by = { name: `a client with a body of ${type}` };
    const call = { route, by, values: {}, body, contentType: type };
    const { body: answered } = await calls.answers(call, [400, 401]);
    expect(answered["error"]).to.match(/^invalid_(?:client|request)$/);
  }
}

async function limitsPages(
  route: Route,
  { world, calls }: Given,
  wrong: readonly string[],
): Promise<void> {
  const by = { name: "who may call it", token: rightful(route, world).token };
  for (const query of wrong) {
    const call = { route, by, values: world.open, query: `?${query}` };
    await calls.refuses(call, 422, "request.invalid");
  }
  const call = { route, by, values: world.open, query: "?size=100000" };
  const answer = await calls.send(call);
  const { status, body, headers } = answer;
  // A list of something that the path's example does not name.
  const named =
    /\{(?:id|packageUuid|localId|hash|environmentId|runnerUuid|registryRepositoryUuid)\}/;
  if (status === 404 && named.test(route.path)) return;
  mustBe(status === 200, "200", call, answer);
  expect(body["page"]).to.include({ size: 200, number: 0 });
  expect(body["_embedded"])
    .to.have.property(route.list ?? "")
    .that.is.an("array");
  expect(headers.get("x-total-count")).to.match(/^\d+$/);
}
