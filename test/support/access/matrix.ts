import { expect } from "chai";

import { Scope } from "../../../src/events/token/access-token.ts";
import { hasScope } from "../../../src/http/access/gate.ts";
import type { Route } from "../../../src/http/core/route.ts";
import { routes } from "../../../src/http/routes.ts";
import { startTestApp, type TestUser } from "../app/app.ts";
import { type Calls, callsTo, untouchedLog } from "./call.ts";
import { callerChecks } from "./caller-checks.ts";
import { givenRoleWorld, givenRules, type RoleWorld } from "./given.ts";
import { inputChecks } from "./input-checks.ts";
import { roleChecks } from "./role-checks.ts";
import { chosen, type Extent, firstOfEach, signatureOf } from "./sample.ts";

/** What the checks of the matrix work with. */
export type Given = Readonly<{
  world: RoleWorld;
  calls: Calls;
  extent: Extent;
  /** Ids of rules of what is public, by what they are rules of and what kind they are. */
  rulesElsewhere: ReadonlyMap<string, string>;
  /** A token of a user with all scopes that do not imply this one. */
  tokenWithout: (scope: Scope, user: TestUser) => Promise<string>;
}>;

/** One property of access, tried at each route that it is declared for. */
export type Check = Readonly<{
  title: string;
  appliesTo: (route: Route) => boolean;
  /** What makes it another check at routes of one signature: the code that runs, or the input. */
  differsBy?: (route: Route) => string;
  /** What has to be tried once, whatever the signature of the route is. */
  coversOnce?: (route: Route) => string;
  /** What it reads may be made by its first reading. */
  mayAppend?: true;
  run: (route: Route) => Promise<unknown>;
}>;

/** Declares a test for each check and route; call it with `await` at the top of a file. */
export async function accessMatrix(extent: Extent): Promise<void> {
  const app = await startTestApp();
  const world = await givenRoleWorld(app);
  const rulesElsewhere = await givenRules(app, world);
  const log = untouchedLog(app);

  const tokens = new Map<string, string>();
  async function tokenWithout(scope: Scope, { id }: TestUser): Promise<string> {
    const key = `${id} ${scope}`;
    const others = Scope.options.filter((other) => !hasScope(new Set([other]), scope));
    const token = tokens.get(key) ?? (await app.givenToken(id, others));
    if (!tokens.has(key)) await log.accept();
    tokens.set(key, token);
    return token;
  }

  const given = { world, calls: callsTo(app), extent, rulesElsewhere, tokenWithout };
  const checks = [...callerChecks(given), ...roleChecks(given), ...inputChecks(given)];
  const tried = new Map(checks.map((check) => [check, routesOf(check, extent)]));

  describe(`access, ${extent}`, () => {
    before(log.accept);

    for (const [check, triedRoutes] of tried) {
      describe(check.title, () => {
        for (const route of triedRoutes) {
          const run = () => check.run(route);
          const test = check.mayAppend ? () => run().finally(log.accept) : log.leavesNoTrace(run);
          it(`${route.method.toUpperCase()} ${route.path}`, test);
        }
      });
    }

    it("is tried at a route of every signature that a check applies to", () => {
      for (const [{ title, appliesTo }, triedRoutes] of tried) {
        const wanted = signaturesOf(routes.filter(appliesTo));
        expect(wanted, title).not.to.deep.equal([]);
        expect(signaturesOf(triedRoutes), title).to.deep.equal(wanted);
      }
      const all = [...tried.values()].flat();
      expect(signaturesOf(all)).to.deep.equal(signaturesOf(routes));
    });
  });
}

const signaturesOf = (of: readonly Route[]) => [...new Set(of.map(signatureOf))].sort();

function routesOf(check: Check, extent: Extent): readonly Route[] {
  const { appliesTo, differsBy = () => "", coversOnce } = check;
  const kindOf = (route: Route) => `${signatureOf(route)}; ${differsBy(route)}`;
  const all = routes.filter(appliesTo);
  const first = chosen(extent, all, kindOf);
  if (coversOnce === undefined || extent === "whole") return first;
  const covered = new Set(first.map(coversOnce));
  const others = all.filter((route) => !covered.has(coversOnce(route)));
  return [...first, ...firstOfEach(others, coversOnce)];
}
