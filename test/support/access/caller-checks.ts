import { expect } from "chai";

import { settingsDefaults } from "../../../src/events/instance/settings.ts";
import { needsAdministrator } from "../../../src/http/access/access.ts";
import { newToken } from "../../../src/platform/key/token.ts";
import { nowhere, rightful } from "../app/world.ts";
import { mustBe } from "./call.ts";
import type { Check, Given } from "./matrix.ts";
import { inTurn } from "./sample.ts";

/** How a caller has to authenticate, whatever the route is about. */
export function callerChecks({ world, calls, extent, tokenWithout }: Given): readonly Check[] {
  const { anna, root } = world;
  const nobody = { name: "a client without a token" };
  const administrator = { name: "an administrator", token: root.token };
  const some = inTurn(extent === "whole" ? 4 : 1);
  const ownAuthentication = ["anonymous", "basic", "client", "agent"];

  return [
    {
      title: "opens nothing to a token where clients and agents authenticate themselves",
      appliesTo: ({ access }) => access === "client" || access === "agent",
      async run(route) {
        const call = { route, by: administrator, values: {} };
        const answer = await calls.send(call);
        const { status } = answer;
        mustBe(status >= 400 && status <= 422, "a status from 400 to 422", call, answer);
      },
    },
    {
      title: "refuses callers without a password, and tokens, where a password is needed",
      appliesTo: ({ access }) => access === "basic",
      async run(route) {
        for (const by of [nobody, administrator]) {
          await calls.refuses({ route, by, values: {} }, 403, "auth.credentials_invalid");
        }
      },
    },
    {
      title: "refuses callers without a token, and with a malformed or unknown one",
      appliesTo: ({ access }) => !ownAuthentication.includes(access),
      async run(route) {
        const { anonymousWhen } = route;
        const isOpen = anonymousWhen !== undefined && settingsDefaults[anonymousWhen] === true;
        const wrong = [
          { name: "a client with an empty token", token: "" },
          { name: "a client with a token of one letter", token: "x" },
          { name: "a client with a token that is too long by a letter", token: `${anna.token}x` },
          { name: "a client with an unknown token", token: newToken("lfat") },
        ];
        const callers = [...(isOpen ? [] : [nobody]), ...some(wrong)];
        for (const by of callers) {
          await calls.refuses({ route, by, values: world.open }, 403, "auth.token_invalid");
        }
      },
    },
    {
      title: "refuses a token without the scope",
      appliesTo: ({ scope }) => scope !== "none",
      async run(route) {
        const { scope } = route;
        if (scope === "none") return;
        const token = await tokenWithout(scope, rightful(route, world));
        const by = { name: `who may call it, with a token without ${scope}`, token };
        for (const values of [world.hidden, nowhere(world.hidden)]) {
          const call = { route, by, values };
          const answer = await calls.refuses(call, 403, "auth.scope_missing");
          mustBe(answer.body["scope"] === scope, `the missing scope ${scope}`, call, answer);
        }
      },
    },
    ...administratorChecks({ world, calls }),
  ];
}

function administratorChecks({ world, calls }: Pick<Given, "world" | "calls">): readonly Check[] {
  return [
    {
      title: "needs a scope where an administrator is needed",
      appliesTo: ({ access }) => access === "admin",
      run: async ({ scope }) => expect(scope).not.to.equal("none"),
    },
    {
      title: "refuses users who are no administrators where one is needed",
      appliesTo: ({ access }) => needsAdministrator(access),
      async run(route) {
        const by = { name: "a user who is no administrator", token: world.anna.token };
        await calls.refuses({ route, by, values: world.hidden }, 403, "auth.admin_required");
      },
    },
  ];
}
