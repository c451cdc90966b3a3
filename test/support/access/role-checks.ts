import { randomUUID } from "node:crypto";

import { neededRole, type Role, roles } from "../../../src/http/access/access.ts";
import type { Route } from "../../../src/http/core/route.ts";
import { nowhere, parametersOf, sampleBody, type Values } from "../app/world.ts";
import { type Caller, mustBe } from "./call.ts";
import { ruleKindOf } from "./given.ts";
import type { Check, Given } from "./matrix.ts";

const needsRole = ({ access }: Route): boolean => neededRole(access) !== undefined;

const mustNeed = ({ access, path }: Route) => {
  const needed = neededRole(access);
  if (needed === undefined) throw new Error(`${path} needs no role`);
  return { ...needed, rank: roles.indexOf(needed.role) };
};

/** What a role in a project, a team or a company opens, and what nothing but a role opens. */
export function roleChecks(given: Given): readonly Check[] {
  const { world, calls, extent, rulesElsewhere } = given;
  const owner = { name: "the owner", token: world.anna.token };
  const isRule = ({ path }: Route) =>
    /\/edit$|Uuid\}$/.test(path) && ruleKindOf(path) !== undefined;

  return [
    refusesOthers(given),
    {
      title: "lets the role read, higher ones and the owner, private or not",
      appliesTo: (route) => needsRole(route) && route.method === "get",
      mayAppend: true,
      async run(route) {
        const enough = roles.slice(mustNeed(route).rank);
        const tried = extent === "whole" ? enough : enough.slice(0, 1);
        const callers = [...tried.map((role) => memberOf(given, role)), owner];
        const places = extent === "whole" ? [world.hidden, world.open] : [world.hidden];
        for (const by of callers) {
          for (const values of places) {
            const call = { route, by, values };
            const answer = await calls.send(call);
            mustBe(answer.status !== 403, "another status than 403", call, answer);
          }
        }
      },
    },
    {
      title: "finds nothing in a project, team or company that does not exist",
      appliesTo: needsRole,
      async run(route) {
        const { resource } = mustNeed(route);
        const values = [nowhere(world.hidden)];
        if (resource === "project") {
          values.push({
            ...world.hidden,
            ownerAlias: world.bob.alias,
            projectUuid: randomUUID(),
          });
        }
        for (const each of values) {
          await calls.refuses({ route, by: owner, values: each }, 404, `${resource}.not_found`);
        }
      },
    },
    {
      title: "finds nothing under the id of a rule of another project, team or company",
      appliesTo: (route) => needsRole(route) && isRule(route),
      differsBy: ({ path, method }) => `${ruleKindOf(path)} ${method}`,
      async run(route) {
        const id =
          rulesElsewhere.get(`${mustNeed(route).resource} ${ruleKindOf(route.path)}`) ?? "";
        const named = Object.fromEntries(parametersOf(route).map((name) => [name, id]));
        const edits = route.path.endsWith("/edit");
        const body = edits ? { ...(sampleBody(route) as object), uuid: id } : undefined;
        const values = { ...named, ...world.hidden };
        await calls.answers({ route, by: owner, values, body }, [404]);
      },
    },
  ];
}

const memberOf = ({ world }: Given, role: Role): Caller & Readonly<{ alias: string }> => {
  const { alias, token } = world.member(role);
  return { name: `a member with the role ${role}`, token, alias };
};

/** Strangers, administrators of the instance and lower roles: none of them has the role. */
function refusesOthers(given: Given): Check {
  const { world, calls, extent } = given;
  const { bob, root } = world;
  const stranger = { name: "a stranger", ...bob };
  const administrator = { name: "an administrator of the instance", ...root };

  return {
    title: "refuses strangers, administrators of the instance and lower roles",
    appliesTo: needsRole,
    async run(route) {
      const { role, rank } = mustNeed(route);
      const { selfParam } = route;
      // In a sample the highest of the lower roles, which a rank that is off by one lets in.
      const lowest = extent === "whole" ? 0 : Math.max(0, rank - 1);
      const lower = roles.slice(lowest, rank).map((each) => memberOf(given, each));
      const strangers = [stranger, ...(route.orAdministrator ? [] : [administrator])];
      // Members may leave: the one to remove is another.
      const about = (values: Values, alias: string): Values =>
        selfParam === undefined
          ? values
          : { ...values, [selfParam]: alias === bob.alias ? root.alias : bob.alias };
      // Everybody with a token is a guest of what is public.
      const places = lower.length > 0 ? [world.hidden, world.open] : [world.hidden];
      for (const values of places) {
        const kind = values === world.open ? "public" : "private";
        const nobody = { name: `a client without a token, where it is ${kind},` };
        await calls.refuses({ route, by: nobody, values: about(values, "") }, 403);
        for (const { name, token, alias } of [...strangers, ...lower]) {
          const by = { name: `${name}, where it is ${kind},`, token };
          const call = { route, by, values: about(values, alias) };
          const answer = await calls.refuses(call, 403, "auth.role_missing");
          mustBe(answer.body["role"] === role, `the missing role ${role}`, call, answer);
        }
      }
      // Nor may strangers leave what they are not in.
      if (selfParam === undefined) return;
      for (const { name, token, alias } of strangers) {
        const by = { name: `${name}, about themselves,`, token };
        const values = { ...world.hidden, [selfParam]: alias };
        await calls.refuses({ route, by, values }, 403, "auth.role_missing");
      }
    },
  };
}
