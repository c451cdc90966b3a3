import { expect } from "chai";

import { mustNotBeReserved } from "../../../src/commands/core/reserved-alias.ts";
import type { Route } from "../../../src/http/core/route.ts";
import { routes } from "../../../src/http/routes.ts";

/** Segments by which an alias in the same place would be hidden: literal segments win. */
function hidingSegments(): ReadonlySet<string> {
  const hiding = new Set<string>();
  for (const route of routes) {
    for (const other of routes) {
      if (route.method === other.method)
        for (const found of hiddenBy(route, other)) hiding.add(found);
    }
  }
  return hiding;
}

function hiddenBy(route: Route, other: Route): readonly string[] {
  const own = route.path.split("/");
  const others = other.path.split("/");
  const isParameter = (segment = "") => segment.startsWith("{");
  const fits = own.every((segment, index) => {
    return isParameter(segment) || isParameter(others[index]) || segment === others[index];
  });
  if (own.length !== others.length || !fits) return [];
  // The first difference decides which of the two is matched first.
  const index = own.findIndex((segment, at) => segment !== others[at]);
  const alias = /^\{(?:owner|user|team|company)Alias\}$/.test(own[index] ?? "");
  return alias && !isParameter(others[index]) ? [others[index] ?? ""] : [];
}

describe("reserved aliases", () => {
  it("hold every word that a route would hide", () => {
    const hiding = hidingSegments();
    expect(hiding).to.include("me");
    for (const word of hiding) {
      expect(() => mustNotBeReserved(word), word).to.throw("This alias is reserved.");
    }
  });

  it("hold every form of an id, which another route would take", () => {
    expect(() => mustNotBeReserved("0B0E6C0A-3c55-4d0c-9c2e-5f6a7b8c9d0e")).to.throw("reserved");
    expect(() => mustNotBeReserved("anna")).not.to.throw();
  });
});
