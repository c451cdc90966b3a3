import type { Gate } from "../../../../src/http/access/gate.ts";
import { performer } from "../../../../src/http/api/undo/perform.ts";
import type { Deps } from "../../../../src/http/core/deps.ts";
import type { RequestContext } from "../../../../src/http/core/request.ts";
import { route } from "../../../../src/http/core/route.ts";
import { refused } from "../../../support/app/refused.ts";

const administrate = route({
  method: "post",
  path: "/administrate",
  operationId: "administrate",
  summary: "Do what only administrators may",
  tag: "Events",
  scope: "USER_WRITE",
  access: "admin",
  reply: "empty",
  handle: async () => undefined,
});

describe("an operation that an undo performs", () => {
  it("requires an administrator where the operation itself does", async () => {
    const perform = performer([administrate], {} as Gate);
    const scopes = new Set(["USER_WRITE"]);
    const run = (isAdmin: boolean) => {
      const request = { userId: "1", isAdmin, scopes, actor: { via: "token" } } as unknown;
      const order = { operationId: "administrate", params: {} };
      return perform(order, request as RequestContext, {} as Deps);
    };
    await run(true);
    await refused(() => run(false), "auth.admin_required");
  });
});
