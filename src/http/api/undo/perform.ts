import { invariant } from "../../../platform/invariant.ts";
import { neededRole } from "../../access/access.ts";
import type { Gate, Resolved } from "../../access/gate.ts";
import type { Perform } from "../../core/deps.ts";
import { mustBeFor } from "../../core/operation.ts";
import type { HandlerInput, Route } from "../../core/route.ts";
import { checked } from "../../core/schema.ts";

/**
 * Runs another operation on behalf of a request, with the rights that the operation itself requires.
 * It throws what the operation refuses, and 403 when the caller may not perform it.
 */
export function performer(routes: readonly Route[], gate: Omit<Gate, "caller">): Perform {
  const known = new Map(routes.map((route) => [route.operationId, route]));
  return async ({ operationId, params, query, body }, request, deps) => {
    const route = known.get(operationId);
    invariant(route !== undefined, `there is an operation ${operationId}`);
    mustBeFor(request, route, false);
    const needed = neededRole(route.access);
    const resolved: Resolved | undefined =
      needed && (await gate[needed.resource](params, request, needed.role));
    const input = {
      params: route.params && checked(route.params, params),
      query: route.query && checked(route.query, query ?? {}),
      body: route.body && checked(route.body, body ?? {}),
      page: undefined,
      request: { ...request, ...resolved },
    } as HandlerInput;
    await route.handle(input, deps);
  };
}
