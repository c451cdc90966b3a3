import type { Route } from "../../../src/http/core/route.ts";
import { routes } from "../../../src/http/routes.ts";
import { startTestApp } from "../app/app.ts";
import {
  givenWorld,
  parametersOf,
  queryKeys,
  rightful,
  sampleBody,
  sampleQuery,
  type Values,
} from "../app/world.ts";
import { callsTo, mustBe } from "./call.ts";
import { chosen, type Extent, inTurn, signatureOf } from "./sample.ts";

/** What turns up in fields sooner or later, wherever something else was expected. */
const oddities: readonly unknown[] = [
  null,
  "",
  " ",
  "\u0000",
  "a\u0000b",
  "..",
  "../../etc/passwd",
  "-rf",
  "--upload-pack=touch /tmp/x",
  "refs/heads/../../x",
  "'; drop table app_user; --",
  "%00",
  "\ud800",
  "\u202egnp.exe",
  "аnna",
  "x".repeat(70_000),
  -1,
  1.5,
  2 ** 53,
  1e308,
  true,
  [],
  [null],
  [[]],
  ["a", "a"],
  {},
  { id: {} },
  { $ne: null },
  { toString: "x", constructor: { prototype: {} } },
  "9999-99-99",
  "2026-13-45T99:99:99Z",
  "http://[::1",
  "00000000-0000-0000-0000-000000000000",
];

const texts = oddities.filter((odd): odd is string => typeof odd === "string");
const shortTexts = texts.filter((text) => text.length < 1_000);
// Clients resolve dot segments: it would be another path.
const pathTexts = shortTexts.filter((text) => text !== "\ud800" && text !== "..");
const rawQueries = [
  ...["?q=%", "?q=%ff%fe", "?q[]=a&q[b]=c", "?&&&==", "?q=a&q=b", "?__proto__[x]=1"],
];

/** What would change who is calling, or take the ground from under the other cases. */
const spared = /^(?:post \/admin\/settings\/|put \/(?:user|admin\/user\/\{userAlias\})\/change-)/;
const fuzzed = routes.filter(
  ({ access, method, path }) => access !== "basic" && !spared.test(`${method} ${path}`),
);

/** A round of everything takes minutes: each field gets some, another field others; FUZZ=all gives all to all. */
function countFor(extent: Extent): number {
  if (process.env["FUZZ"] === "all") return oddities.length;
  return extent === "whole" ? 6 : 1;
}

type Sent = Readonly<{ values?: Values; query?: string; body?: unknown }>;

/** Declares tests that no input of a caller is answered by a fault of the service; call it with `await`. */
export async function fuzz(extent: Extent): Promise<void> {
  const app = await startTestApp();
  const world = await givenWorld(app);
  const calls = callsTo(app);
  const some = inTurn(countFor(extent));
  const someRaw = inTurn(2);

  async function noFaults(route: Route, sent: readonly Sent[]): Promise<void> {
    const by = { name: "who may call it", token: rightful(route, world).token };
    for (let start = 0; start < sent.length; start += 8) {
      const batch = sent.slice(start, start + 8).map(async ({ values, query, body }) => {
        const what = { values: values ?? valuesOf(route), query: query ?? "" };
        const call = { route, by, ...what, body: body ?? sampleBody(route) };
        const answer = await calls.send(call);
        const expected = `a status below 500 for ${JSON.stringify(body)?.slice(0, 300)}`;
        mustBe(answer.status < 500, expected, call, answer);
      });
      await Promise.all(batch);
    }
  }

  // Nobody's: what succeeds by chance changes nothing that the next case needs.
  const valuesOf = (route: Route): Values =>
    route.method === "delete" ? { ...world.open, userUuid: "x" } : world.open;

  const describeRoutes = (
    title: string,
    applies: (route: Route) => boolean,
    sentTo: (route: Route) => readonly Sent[],
  ) =>
    describe(title, () => {
      for (const route of chosen(extent, fuzzed.filter(applies), signatureOf)) {
        it(`${route.method.toUpperCase()} ${route.path}`, () => noFaults(route, sentTo(route)));
      }
    });

  describeRoutes(
    "no body makes the service fail",
    ({ body }) => body !== undefined,
    (route) => mutations(sampleBody(route), some).map((body) => ({ body: body ?? "null" })),
  );

  describeRoutes(
    "no path makes the service fail",
    (route) => parametersOf(route).length > 0,
    (route) =>
      parametersOf(route).flatMap((name) =>
        some(pathTexts).map((text) => ({ values: { ...valuesOf(route), [name]: text } })),
      ),
  );

  describeRoutes(
    "no query makes the service fail",
    (route) => route.method === "get" || queryKeys(route).length > 0,
    (route) => {
      const queries = [...queryKeys(route), "undeclared"].flatMap((key) =>
        some(shortTexts).map((text) => `?${queryWith(route, key, text)}`),
      );
      const raw = extent === "whole" ? rawQueries : someRaw(rawQueries);
      return [...queries, ...raw].map((query) => ({ query }));
    },
  );
}

type Some = ReturnType<typeof inTurn>;

/** The example with one field replaced, for every field. */
function mutations(example: unknown, some: Some): readonly unknown[] {
  if (typeof example !== "object" || example === null || Array.isArray(example))
    return some(oddities);
  const fields = Object.keys(example);
  const replaced = fields.flatMap((field) =>
    some(oddities).map((odd) => ({ ...example, [field]: odd })),
  );
  const left = fields.map((field) => ({ ...example, [field]: undefined }));
  return [...replaced, ...left, { ...example, extra: { deep: [{}] } }];
}

/** The query of an example with one key replaced or added. */
function queryWith(route: Route, key: string, text: string): string {
  const query = new URLSearchParams(sampleQuery(route));
  query.set(key, text);
  return query.toString();
}
