import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { ownerScopes } from "../../../../src/http/access/owner-scope.ts";
import { codeOf } from "../../../support/app/answer.ts";
import { startTestApp } from "../../../support/app/app.ts";
import { givenWorld } from "../../../support/app/world.ts";

const app = await startTestApp();
const world = await givenWorld(app);
const { anna, bob, root } = world;
const at = (base: string, values = world.open) =>
  base.replaceAll(/\{(\w+)\}/g, (_, name: string) => values[name] ?? name);
const as = ({ token }: { token: string }, body?: unknown) => ({ token, body });
type Report = Readonly<Record<string, unknown>>;
const reports = async (query = "") => {
  const { body } = await app.get(`/admin/report${query}`, as(root));
  return (body["_embedded"] as { reportList: Report[] }).reportList;
};

for (const { resource, base } of ownerScopes) {
  describe(`reporting a ${resource}`, () => {
    const file = (user: { token: string }, values = world.open, body: object = {}) =>
      app.post(`${at(base, values)}/report`, as(user, { reason: "SPAM", ...body }));

    it("shows administrators who, what and why, until one of them closes it", async () => {
      const filed = await file(bob, world.open, { text: "It sells watches." });
      expect(filed.status, filed.text).to.equal(200);
      const id = String(filed.body["id"]);
      const shown = (await reports("?status=OPEN&size=200")).find((one) => one["id"] === id);
      expect(shown).to.include({
        subjectType: resource.toUpperCase(),
        subjectPath: at(base),
        reporter: "bob",
        reason: "SPAM",
        text: "It sells watches.",
        status: "OPEN",
      });
      expect(codeOf(await file(bob))).to.deep.equal([422, "report.exists"]);

      const close = () => app.post(`/admin/report/${id}/close`, as(root));
      expect((await close()).body).to.include({ id, status: "CLOSED" });
      expect((await close()).status).to.equal(200);
      expect((await reports("?status=OPEN")).map((one) => one["id"])).not.to.include(id);
      expect((await file(bob)).status).to.equal(200);
    });

    it("is refused of what one may not see, and with a reason there is not", async () => {
      expect(codeOf(await file(bob, world.hidden))).to.deep.equal([403, "auth.role_missing"]);
      for (const reason of ["", "BECAUSE", ["SPAM"], null, undefined]) {
        expect((await file(anna, world.open, { reason })).status).to.equal(422);
      }
      expect((await file(anna, world.open, { text: "x".repeat(4_001) })).status).to.equal(422);
    });

    it("is refused while enableReports is off", async () => {
      const set = (enableReport: boolean) =>
        app.post("/admin/settings/project-report", as(root, { enableReport }));
      await set(false);
      expect(codeOf(await file(anna))).to.deep.equal([403, "report.disabled"]);
      await set(true);
      expect((await file(anna)).status).to.equal(200);
    });
  });
}

describe("the reports", () => {
  it("are the administrators' alone, and one is found by its id", async () => {
    expect((await app.get("/admin/report", as(anna))).status).to.equal(403);
    const unknown = await app.post(`/admin/report/${randomUUID()}/close`, as(root));
    expect(codeOf(unknown)).to.deep.equal([404, "report.not_found"]);
  });

  it("hold the reporter's words sealed", async () => {
    const rows = await app.deps.db("report");
    expect(JSON.stringify(rows)).not.to.contain("watches");
  });
});
