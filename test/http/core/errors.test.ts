import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";

import { HttpRefusal, problemAnswer } from "../../../src/http/core/errors.ts";
import type { Problem } from "../../../src/http/core/problem.ts";
import { Refusal } from "../../../src/platform/refusal.ts";
import { codeOf } from "../../support/tidy/code-of.ts";

const names = await readdir("src", { recursive: true });
const files = names
  .filter((name) => name.endsWith(".ts"))
  .map((name) => path.join("src", name))
  .sort();
const sources = await Promise.all(files.map((file) => readFile(file, "utf8")));

/** Codes of the refusals in the source that are answered 422. */
const codes = new Set(
  sources.flatMap((text) =>
    [...text.matchAll(/"unprocessable",\s*"([a-z_.]+)"/g)].map(([, code = ""]) => code),
  ),
);

const problemOf = (error: unknown): Problem =>
  JSON.parse(problemAnswer(error, "/project/anna/search", "1f0c8d5e").body) as Problem;

describe("the errors of a problem document", () => {
  it("list every 422 in the source, even without a field", () => {
    expect(codes.size).to.be.least(100);
    for (const code of codes) {
      const { errors } = problemOf(new Refusal("unprocessable", code, "Not possible."));
      expect(errors).to.deep.equal([{ field: "", code, message: "Not possible." }]);
    }
  });

  it("are those of the refusal when it has some", () => {
    const errors = [{ field: "alias", code: "alias.taken", message: "It is taken." }];
    const refusal = new Refusal("unprocessable", "alias.taken", "alias: It is taken.", { errors });
    expect(problemOf(refusal).errors).to.deep.equal(errors);
    const empty = new Refusal("unprocessable", "tag.exists", "It exists.", { errors: [] });
    expect(problemOf(empty).errors).to.have.length(1);
  });

  it("belong to 422, whichever error is answered so", () => {
    const refused = new HttpRefusal(422, "blob.size_mismatch", "The object has 5 bytes.");
    expect(problemOf(refused).errors).to.have.length(1);
    for (const kind of ["bad_request", "conflict", "forbidden", "not_found"] as const) {
      expect(problemOf(new Refusal(kind, "thing.refused", "No.")).errors).to.equal(undefined);
    }
  });

  it("are 503 while a table or column is missing that a read model will have", () => {
    for (const code of ["42P01", "42703"]) {
      const missing = Object.assign(new Error("It does not exist."), { code });
      const { status, headers } = problemAnswer(missing, "/team", "1f0c8d5e");
      expect(status).to.equal(503);
      expect(headers).to.include({ "Retry-After": "1" });
      expect(problemOf(missing)).to.include({ code: "projection.lagging" });
    }
  });

  it("cannot be forgotten: one file writes problem documents", () => {
    const writers = files.filter((_, at) => /"application\/problem\+json"/.test(sources[at] ?? ""));
    expect(writers).to.deep.equal([
      path.join("src", "http", "api", "openapi", "openapi.ts"),
      path.join("src", "http", "core", "errors.ts"),
    ]);
    const setting = files.filter((_, at) => /status\s*=\s*4\d\d/.test(codeOf(sources[at] ?? "")));
    expect(setting).to.deep.equal([]);
  });
});
