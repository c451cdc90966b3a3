import { readFile } from "node:fs/promises";
import { expect } from "chai";

import { routes } from "../../../src/http/routes.ts";

/** The paths of the table in docs/api/as-of.md, each with the reason why they have no past. */
const reasons = (await readFile("docs/api/as-of.md", "utf8"))
  .split("| not of the past | because |\n|---|---|\n")[1]!
  .split("\n\n", 1)[0]!
  .split("\n")
  .flatMap((row) => {
    const [, paths = "", reason = ""] = row.split(" | ").length > 1 ? row.split("|") : [];
    return [...paths.matchAll(/`([^`]+)`/g)].map(([, path = ""]) => ({
      path,
      reason: reason.trim(),
    }));
  });

/** Braces hold any parameter, and a star any text. */
const fits = (path: string, pattern: string): boolean => {
  const parts = pattern.split("*");
  const named = path.replaceAll(/\{\w+\}/g, "{}");
  const [first = "", last = ""] = [parts[0], parts.at(-1)];
  if (parts.length === 1) return named === pattern;
  if (!named.startsWith(first) || !named.endsWith(last)) return false;
  const middle = named.slice(first.length, named.length - last.length);
  return parts.slice(1, -1).every((part) => middle.includes(part));
};

const gets = routes.filter(({ method }) => method === "get");

describe("the past of every GET", () => {
  it("is answered, or the documentation gives the reason why it is not", () => {
    const unnamed = gets
      .filter(({ asOf, path }) => !asOf && !reasons.some((each) => fits(path, each.path)))
      .map(({ path }) => path);
    expect(unnamed).to.deep.equal([]);
  });

  it("is denied by the documentation only where it is not answered", () => {
    const denied = gets
      .filter(({ asOf, path }) => asOf && reasons.some((each) => fits(path, each.path)))
      .map(({ path }) => path);
    expect(denied).to.deep.equal([]);
  });

  it("is denied of paths that there are, for a reason", () => {
    const idle = reasons.filter(
      ({ path, reason }) => reason === "" || !gets.some((route) => fits(route.path, path)),
    );
    expect(idle).to.deep.equal([]);
  });
});
