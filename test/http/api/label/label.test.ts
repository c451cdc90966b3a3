import { randomUUID } from "node:crypto";
import { expect } from "chai";

import { isTextLight } from "../../../../src/http/api/label/view.ts";
import { startTestApp, type TestUser } from "../../../support/app/app.ts";

const app = await startTestApp();
const anna = await app.givenUser("anna");
const boris = await app.givenUser("boris");
await app.givenProject(anna, "forge", { private: false });
await app.givenProject(anna, "other");

type Json = Record<string, unknown>;
const { token } = anna;
const at = (rest = "", project = "forge") => `/project/anna/${project}/label${rest}`;

const create = (body: object, project?: string, user: TestUser = anna) =>
  app.post(at("", project), { token: user.token, body });

async function created(body: object, project?: string): Promise<Json> {
  const answer = await create(body, project);
  expect(answer.status, answer.text).to.equal(200);
  return answer.body;
}

const listed = async (query = "", project?: string) =>
  (await app.get(at(query, project), { token })).body as {
    _embedded: { labelList: Json[] };
    page: Json;
  };

describe("creating a label", () => {
  it("answers the label, and shows it", async () => {
    const body = { title: " bug ", description: "Broken", hexColor: "#CF222E" };
    const label = await created(body);
    const shown = { title: "bug", description: "Broken", hexColor: "#cf222e", isTextLight: true };
    expect(label).to.deep.include(shown);
    expect((await app.get(at(`/${label["id"]}`), { token })).body).to.deep.equal(label);
  });

  it("chooses a colour when none is given", async () => {
    const { hexColor, description } = await created({ title: "plain" });
    expect(hexColor).to.match(/^#[0-9a-f]{6}$/);
    expect(description).to.equal("");
  });

  it("rejects malformed fields", async () => {
    const { totalElements } = (await listed()).page;
    for (const [body, field, code] of [
      [{}, "title", "error.field.empty"],
      [{ title: " " }, "title", "error.field.empty"],
      [{ title: "a\nb" }, "title", "error.field.control_character"],
      [{ title: "x".repeat(256) }, "title", "error.field.too_long"],
      [{ title: "x".repeat(100 * 1024) }, "title", "error.field.too_long"],
      [{ title: "x", description: "x".repeat(1_001) }, "description", "error.field.too_long"],
      [{ title: "x", hexColor: "red" }, "hexColor", "error.field.format"],
      [{ title: "x", hexColor: "#12345g" }, "hexColor", "error.field.format"],
    ] as const) {
      const answer = await create(body);
      expect(answer.status, answer.text).to.equal(422);
      expect(answer.body["errors"]).to.deep.include.members([
        { field, code, message: (answer.body["errors"] as Json[])[0]!["message"] },
      ]);
    }
    expect((await listed()).page["totalElements"]).to.equal(totalElements);
  });

  it("rejects a taken title, also in another case and in a race", async () => {
    await created({ title: "Taken" });
    const again = await create({ title: "tAKEN" });
    expect([again.status, again.body["code"]]).to.deep.equal([422, "label.title_taken"]);
    await created({ title: "Taken" }, "other");
    const race = await Promise.all(Array.from({ length: 5 }, () => create({ title: "raced" })));
    expect(race.map(({ status }) => status).sort()).to.deep.equal([200, 422, 422, 422, 422]);
  });

  it("needs the role REPORTER", async () => {
    const answer = await create({ title: "theirs" }, undefined, boris);
    expect([answer.status, answer.body["code"]]).to.deep.equal([403, "auth.role_missing"]);
    const body = { userAlias: "boris", role: "REPORTER" };
    const added = await app.post("/project/anna/forge/member/invite", { token, body });
    expect(added.status, added.text).to.equal(200);
    expect((await create({ title: "theirs" }, undefined, boris)).status).to.equal(200);
  });
});

describe("the labels of a project", () => {
  it("are listed by title in pages, without those of other projects", async () => {
    await app.givenProject(anna, "listed");
    expect(await listed("", "listed")).to.deep.include({ _embedded: { labelList: [] } });
    for (const title of ["b", "C", "a"]) await created({ title }, "listed");
    const { _embedded, page } = await listed("?size=2", "listed");
    expect(_embedded.labelList.map(({ title }) => title)).to.deep.equal(["a", "b"]);
    expect(page).to.deep.equal({ size: 2, totalElements: 3, totalPages: 2, number: 0 });
    const rest = await listed("?size=2&page=1", "listed");
    expect(rest._embedded.labelList.map(({ title }) => title)).to.deep.equal(["C"]);
  });

  it("are not found under another project or by an id of another form", async () => {
    const { id } = await created({ title: "elsewhere" }, "other");
    for (const wrong of [id, randomUUID(), "x", ".."]) {
      const head = await app.head();
      for (const answer of [
        await app.get(at(`/${wrong}`), { token }),
        await app.put(at(`/${wrong}`), { token, body: { title: "Stolen" } }),
        await app.delete(at(`/${wrong}`), { token }),
      ]) {
        expect(answer.status, String(wrong)).to.be.oneOf(wrong === ".." ? [200, 404, 405] : [404]);
      }
      expect(await app.head()).to.equal(head);
    }
  });
});

describe("editing a label", () => {
  it("changes what is given and keeps the rest", async () => {
    const { id } = await created({ title: "first", description: "d", hexColor: "#ffffff" });
    const put = (body: object) => app.put(at(`/${id}`), { token, body });
    expect((await put({ hexColor: "#000000" })).body).to.include({
      title: "first",
      description: "d",
      hexColor: "#000000",
    });
    expect((await put({ title: "second", description: null })).body).to.include({
      title: "second",
      description: "",
    });
    const head = await app.head();
    expect((await put({})).status).to.equal(200);
    expect((await put({ title: "bug" })).body["code"]).to.equal("label.title_taken");
    expect(await app.head(), "nothing changed").to.equal(head);
    await created({ title: "first" });
  });
});

describe("deleting a label", () => {
  it("releases its title", async () => {
    const { id } = await created({ title: "gone" });
    expect((await app.delete(at(`/${id}`), { token })).status).to.equal(200);
    expect((await app.get(at(`/${id}`), { token })).status).to.equal(404);
    expect((await app.delete(at(`/${id}`), { token })).status).to.equal(404);
    await created({ title: "gone" });
  });
});

describe("the text on a label", () => {
  it("is white on dark colours and black on light ones", () => {
    for (const dark of ["#000000", "#cf222e", "#0000ff", "#495057"]) {
      expect(isTextLight(dark), dark).to.equal(true);
    }
    for (const light of ["#ffffff", "#ffff00", "#00ff00", "#ffa500"]) {
      expect(isTextLight(light), light).to.equal(false);
    }
  });
});
