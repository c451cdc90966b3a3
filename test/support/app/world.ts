import { randomUUID } from "node:crypto";

import { needsAdministrator } from "../../../src/http/access/access.ts";
import { AsOfQuery } from "../../../src/http/core/as-of.ts";
import { exampleOf } from "../../../src/http/core/example.ts";
import { isSchema, schemaWriter } from "../../../src/http/core/json-schema.ts";
import { pageQuery } from "../../../src/http/core/paging.ts";
import type { Route } from "../../../src/http/core/route.ts";
import type { TestApp, TestUser } from "./app.ts";

/** What a path's parameters represent; the rest comes from the declared schema. */
export type Values = Readonly<Record<string, string>>;

/** People, and one of everything that a path can name: private and public, all of it anna's. */
export type World = Readonly<{
  anna: TestUser;
  bob: TestUser;
  root: TestUser;
  hidden: Values;
  open: Values;
}>;

export async function givenWorld(app: TestApp): Promise<World> {
  const anna = await app.givenUser("anna");
  const bob = await app.givenUser("bob");
  const root = await app.givenUser("root", { admin: true });

  const givenAll = async (name: string, isPrivate: boolean): Promise<Values> => {
    const project = await app.givenProject(anna, name, { private: isPrivate });
    for (const kind of ["team", "company"]) {
      const body = { title: name, alias: `${name}-${kind}`, isPrivate };
      const { status, text } = await app.post(`/${kind}`, { token: anna.token, body });
      if (status !== 200) throw new Error(text);
    }
    // The first issue: the example of a localId names it.
    const issue = { title: name, description: name };
    const at = `/project/${anna.alias}/${name}`;
    const post = async (rest: string, body: unknown): Promise<void> => {
      const created = await app.post(at + rest, { token: anna.token, body });
      if (created.status !== 200) throw new Error(created.text);
    };
    await post("/issue", issue);
    // The first merge request as well.
    const actions = [{ action: "CREATE", path: "a.txt", content: name, encoding: "text" }];
    await post("/commit", { branch: "main", message: name, actions });
    const more = [{ ...actions[0], path: "b.txt" }];
    await post("/commit", { branch: "work", startBranch: "main", message: name, actions: more });
    const branches = { sourceBranch: { id: "work" }, targetBranch: { id: "main" } };
    await post("/merge-request", { title: name, ...branches });
    return {
      ownerAlias: anna.alias,
      projectAlias: name,
      projectUuid: project.id,
      teamAlias: `${name}-team`,
      companyAlias: `${name}-company`,
      userAlias: bob.alias,
      userUuid: bob.id,
    };
  };
  const hidden = await givenAll("hidden", true);
  return { anna, bob, root, hidden, open: await givenAll("open", false) };
}

/** The same with nothing at the end of it. */
export const nowhere = (values: Values): Values => ({
  ...values,
  projectAlias: "nowhere",
  projectUuid: randomUUID(),
  teamAlias: "nowhere",
  companyAlias: "nowhere",
});

export const parametersOf = (route: Route): readonly string[] =>
  [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);

export function pathOf(route: Route, values: Values): string {
  return route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(values[name] ?? String(sampleParameter(route, name))),
  );
}

/** What is worked out from a route's schemas, once: generated tests request it thousands of times. */
function oncePerRoute<Value>(work: (route: Route, name: string) => Value) {
  const known = new WeakMap<Route, Map<string, Value>>();
  return (route: Route, name = ""): Value => {
    const ofRoute = known.get(route) ?? new Map<string, Value>();
    known.set(route, ofRoute);
    const value = ofRoute.has(name) ? (ofRoute.get(name) as Value) : work(route, name);
    ofRoute.set(name, value);
    return value;
  };
}

const sampleParameter = oncePerRoute((route, name): unknown => {
  const writer = schemaWriter();
  const { properties } = route.params ? writer.write(route.params, "input") : {};
  const schema = isSchema(properties) ? properties[name] : undefined;
  return isSchema(schema) ? exampleOf(schema, writer.components(), name) : name;
});

/** The documented example of a body; undefined when the operation takes none. */
export const sampleBody: (route: Route) => unknown = oncePerRoute((route) => {
  if (route.body === undefined) return undefined;
  const writer = schemaWriter();
  return exampleOf(writer.write(route.body, "input"), writer.components());
});

/** What a route's query cannot do without, as it follows the path. */
export const sampleQuery: (route: Route) => string = oncePerRoute((route) => {
  if (route.query === undefined) return "";
  const writer = schemaWriter();
  const schema = writer.write(route.query, "input");
  const example = exampleOf(schema, writer.components()) as Readonly<Record<string, unknown>>;
  const needed = Array.isArray(schema["required"]) ? schema["required"].map(String) : [];
  const query = new URLSearchParams(
    needed.map((name): [string, string] => [name, String(example[name])]),
  );
  return query.size === 0 ? "" : `?${query}`;
});

/** What may stand in a route's query. */
export const queryKeys: (route: Route) => readonly string[] = oncePerRoute((route) => {
  const schemas = [
    route.query,
    ...(route.list === undefined ? [] : [pageQuery(route.pageSize)]),
    ...(route.asOf === undefined ? [] : [AsOfQuery]),
  ];
  return schemas.flatMap((schema) => {
    const { properties } = schema ? schemaWriter().write(schema, "input") : {};
    return Object.keys(isSchema(properties) ? properties : {});
  });
});

/** Who may call the route, as far as roles go. */
export const rightful = (route: Route, { root, anna }: World): TestUser =>
  needsAdministrator(route.access) ? root : anna;
