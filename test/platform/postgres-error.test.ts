import { expect } from "chai";
import { openPostgres } from "../../src/platform/postgres.ts";
import { isTransient } from "../../src/platform/postgres-error.ts";

const failure = (fields: object, message = "") => Object.assign(new Error(message), fields);

describe("an error of PostgreSQL", () => {
  it("may pass when the Unix socket is gone, which a restart makes again", async () => {
    const db = openPostgres("postgres://postgres@%2Fnowhere%2Fat%2Fall/postgres");
    const error = await db.raw("select 1").then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    await db.destroy();
    expect(error).to.include({ code: "ENOENT", syscall: "connect" });
    expect(isTransient(error)).to.equal(true);
  });

  for (const code of ["08006", "40001", "57P01", "57P03", "ECONNRESET", "EPIPE"]) {
    it(`may pass with the code ${code}`, () => {
      expect(isTransient(failure({ code }))).to.equal(true);
    });
  }

  for (const message of [
    "Connection terminated unexpectedly",
    "ROLLBACK - Connection terminated unexpectedly",
    "COMMIT; - Client has encountered a connection error and is not queryable",
  ]) {
    it(`may pass with the message "${message}"`, () => {
      expect(isTransient(failure({}, message))).to.equal(true);
    });
  }

  for (const fields of [{ code: "23505" }, { code: "ENOENT", syscall: "open" }, {}]) {
    it(`does not pass as ${JSON.stringify(fields)}`, () => {
      expect(isTransient(failure(fields))).to.equal(false);
    });
  }
});
