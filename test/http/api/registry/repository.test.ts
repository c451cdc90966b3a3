import { randomUUID } from "node:crypto";
import { expect } from "chai";

import { startTestApp } from "../../../support/app/app.ts";
import { expectRefusal, repositoriesAt } from "../../../support/client/registry.ts";

const app = await startTestApp();
const root = await app.givenUser("root", { admin: true });
const anna = await app.givenUser("anna");
const bob = await app.givenUser("bob");
await app.givenProject(anna, "forge");
await app.givenProject(anna, "open", { private: false });
const company = await app.post("/company", {
  token: anna.token,
  body: { title: "Acme", alias: "acme", isPrivate: true },
});
const url = "https://registry.example.org/npm/";
const secret = "very-secret-token";

const scopes = [
  {
    name: "a project",
    forms: ["/registry/project/anna/forge/repositories", "/project/anna/forge/repositories"],
    token: anna.token,
  },
  {
    name: "a company",
    forms: ["/registry/company/acme/repositories", "/company/acme/repositories"],
    token: anna.token,
  },
  {
    name: "the instance",
    forms: ["/registry/instance/open/repositories", "/registry/instance/repositories"],
    token: root.token,
  },
] as const;

before(() => expect(company.status, company.text).to.equal(200));

for (const { name, forms, token } of scopes) {
  const [first, second] = forms;
  const at = repositoriesAt(app, second, token);

  describe(`repositories of ${name}`, () => {
    it("are created, shown and listed at both forms of the path", async () => {
      const other = repositoriesAt(app, first, token);
      const made = await other.local("tools", "generic");
      expect(made).to.deep.equal({
        title: "tools",
        repositoryType: "LOCAL",
        repositoryUuid: made.repositoryUuid,
        packageType: "generic",
        description: null,
        settings: {
          hasAnonymousAccess: false,
          isDeletePackageAllowed: false,
          packageReuploadType: "OVERRIDE",
        },
      });
      for (const form of [at, other]) {
        expect((await form.one(made.repositoryUuid)).body).to.deep.equal(made);
        expect(await form.titles()).to.include("tools");
      }
    });

    it("are proxies that never show their credentials", async () => {
      const proxySettings = { url, username: "robot", token: secret, isCaching: "true" };
      const made = await at.proxy("upstream", "npm", proxySettings);
      expect(made).to.deep.include({
        repositoryType: "PROXY",
        proxySettings: {
          url,
          isCaching: true,
          isOffline: false,
          expireHours: 0,
          metadataRetrievalIntervalSeconds: 7200,
        },
      });
      const changed = await at.change(made.repositoryUuid, {
        type: "PROXY",
        proxySettings: { isOffline: true, expireHours: 12 },
      });
      expect(changed.body["proxySettings"]).to.include({ url, isOffline: true, expireHours: 12 });
      expect(JSON.stringify(made) + changed.text).not.to.contain(secret);
    });

    it("are virtual ones made of others, which cannot be deleted meanwhile", async () => {
      const one = await at.local("one", "maven");
      const two = await at.local("two", "maven");
      const virtualSettings = {
        includedRepositoryUuids: [one.repositoryUuid, two.repositoryUuid],
        deploymentRepositoryUuid: one.repositoryUuid,
      };
      const made = await at.virtual("all", "maven", virtualSettings);
      expect(made["virtualSettings"]).to.deep.equal({
        ...virtualSettings,
        allowRemoteProxying: false,
      });
      expectRefusal(await at.remove(two.repositoryUuid), 409, "registry_repository.included");
      const less = { type: "VIRTUAL", virtualSettings: { includedRepositoryUuids: [] } };
      expect((await at.change(made.repositoryUuid, less)).status).to.equal(200);
      expectRefusal(await at.remove(one.repositoryUuid), 409, "registry_repository.included");
      expect((await at.remove(two.repositoryUuid)).status).to.equal(204);
      expectRefusal(await at.one(two.repositoryUuid), 404, "registry_repository.not_found");
      expect(await at.titles()).not.to.include("two");
      await at.local("TWO", "maven");
    });

    it("have names of their own, without regard to case", async () => {
      await at.local("Names", "npm");
      const body = { type: "LOCAL", repositoryName: "nameS", packageType: "generic" };
      const answer = await app.post(second, { token, body });
      expectRefusal(answer, 422, "registry_repository.name_taken");
    });

    it("have their settings changed one by one", async () => {
      const { repositoryUuid: id } = await at.local("changing", "npm", {
        hasAnonymousAccess: true,
      });
      const settings = { packageReuploadType: "NONE" };
      const changed = await at.change(id, { type: "LOCAL", description: "New", settings });
      expect(changed.status, changed.text).to.equal(200);
      expect(changed.body).to.deep.include({
        description: "New",
        settings: {
          hasAnonymousAccess: true,
          isDeletePackageAllowed: false,
          packageReuploadType: "NONE",
        },
      });
      const kind = await at.change(id, { type: "PROXY", proxySettings: { isOffline: true } });
      expectRefusal(kind, 422, "registry_repository.type_fixed");
    });
  });
}

describe("a repository of packages", () => {
  const project = repositoriesAt(app, scopes[0].forms[1], anna.token);
  const acme = repositoriesAt(app, scopes[1].forms[1], anna.token);
  const instance = repositoriesAt(app, scopes[2].forms[1], root.token);
  const base = "/project/anna/forge/repositories";
  const refusedBody = async (body: object) => {
    const head = await app.head();
    const answer = await app.post(base, { token: anna.token, body });
    expect(answer.status, answer.text).to.equal(422);
    expect(await app.head()).to.equal(head);
    const [error] = answer.body["errors"] as { field: string; code: string }[];
    return [error?.field, error?.code];
  };

  it("is refused with a bad name, type or missing URL", async () => {
    const local = { type: "LOCAL", packageType: "npm" };
    for (const repositoryName of ["", "a b", "a/b", "..", "x".repeat(101), "ä"]) {
      const [field] = await refusedBody({ ...local, repositoryName });
      expect(field, repositoryName).to.equal("repositoryName");
    }
    const named = { repositoryName: "fine", packageType: "npm" };
    for (const type of ["TRASH_CAN", "LOCAL_CACHE", "local", undefined]) {
      expect((await refusedBody({ ...named, type }))[0]).to.equal("type");
    }
    const proxy = { ...named, type: "PROXY" };
    expect(await refusedBody(proxy)).to.deep.equal(["proxySettings.url", "error.field.empty"]);
    for (const [bad, code] of [
      ["http://169.254.169.254/", "url.address"],
      ["http://127.0.0.1:1/", "url.address"],
      ["file:///etc/passwd", "url.scheme"],
      ["https://a:b@example.org/", "url.credentials"],
      ["nonsense", "url.malformed"],
    ] as const) {
      const body = { ...proxy, proxySettings: { url: bad } };
      expect(await refusedBody(body), bad).to.deep.equal(["proxySettings.url", code]);
    }
    const cran = { ...proxy, packageType: "cran", proxySettings: { url } };
    expect((await refusedBody(cran))[0]).to.equal("packageType");
  });

  it("keeps the credentials of a proxy sealed in the log", async () => {
    const texts: string[] = [];
    for await (const event of app.platform.store.readAll()) {
      if (event.stream.startsWith("registryRepository-")) texts.push(JSON.stringify(event.data));
    }
    expect(texts.join("")).to.contain('"token":"sealed.').and.not.to.contain(secret);
    expect(texts.join("")).not.to.contain("robot");
  });

  it("includes only repositories of its type, of its owner or the instance, each once", async () => {
    const foreign = await acme.local("foreign", "npm");
    const shared = await instance.local("shared", "npm");
    const own = await project.local("own", "npm");
    const maven = await project.local("jars", "maven");
    const virtual = { type: "VIRTUAL", repositoryName: "v", packageType: "npm" };
    const including = (...ids: string[]) =>
      refusedBody({ ...virtual, virtualSettings: { includedRepositoryUuids: ids } });
    const field = "virtualSettings.includedRepositoryUuids";
    for (const id of [foreign.repositoryUuid, maven.repositoryUuid, randomUUID()]) {
      expect((await including(own.repositoryUuid, id))[0]).to.equal(`${field}.1`);
    }
    expect((await including(own.repositoryUuid, own.repositoryUuid))[0]).to.equal(`${field}.1`);
    const upstream = await project.proxy("far", "npm", { url });
    for (const id of [shared, foreign, upstream].map(({ repositoryUuid }) => repositoryUuid)) {
      const virtualSettings = { deploymentRepositoryUuid: id };
      const [at] = await refusedBody({ ...virtual, virtualSettings });
      expect(at).to.equal("virtualSettings.deploymentRepositoryUuid");
    }
    const ids = [shared.repositoryUuid, own.repositoryUuid, upstream.repositoryUuid];
    await project.virtual("mixed", "npm", { includedRepositoryUuids: ids });
  });

  it("never includes itself, directly or by another", async () => {
    const one = await project.virtual("circle-1", "npm", {});
    const two = await project.virtual("circle-2", "npm", {
      includedRepositoryUuids: [one.repositoryUuid],
    });
    for (const { repositoryUuid } of [one, two]) {
      const virtualSettings = { includedRepositoryUuids: [repositoryUuid] };
      const answer = await project.change(one.repositoryUuid, { type: "VIRTUAL", virtualSettings });
      expectRefusal(answer, 422, "request.invalid");
    }
  });

  it("includes others over five levels at most", async () => {
    const includedRepositoryUuids: string[] = [];
    for (let level = 1; level <= 6; level += 1) {
      const one = await project.virtual(`level-${level}`, "npm", { includedRepositoryUuids });
      includedRepositoryUuids.splice(0, 1, one.repositoryUuid);
    }
    const virtual = { type: "VIRTUAL", repositoryName: "level-7", packageType: "npm" };
    const body = { ...virtual, virtualSettings: { includedRepositoryUuids } };
    const [field] = await refusedBody(body);
    expect(field).to.equal("virtualSettings.includedRepositoryUuids");
  });

  it("is created once by two requests with the same name at once", async () => {
    const body = { type: "LOCAL", repositoryName: "raced", packageType: "npm" };
    const answers = await Promise.all(
      [1, 2, 3].map(() => app.post(base, { token: anna.token, body })),
    );
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([201, 422, 422]);
  });

  it("is found under its own owner only", async () => {
    const { repositoryUuid: id } = await project.local("mine", "npm");
    for (const [form, token] of [
      ["/project/anna/open/repositories", anna.token],
      ["/company/acme/repositories", anna.token],
      ["/registry/instance/repositories", root.token],
    ] as const) {
      const others = repositoriesAt(app, form, token);
      const local = { type: "LOCAL" };
      for (const answer of [await others.one(id), await others.change(id, local)]) {
        expectRefusal(answer, 404, "registry_repository.not_found");
      }
      expectRefusal(await others.remove(id), 404, "registry_repository.not_found");
    }
    expect((await project.one(id)).status).to.equal(200);
  });

  it("of a public project is read by everybody with a token and changed by its administrators", async () => {
    const open = "/project/anna/open/repositories";
    const { repositoryUuid: id } = await repositoriesAt(app, open, anna.token).local("pub", "npm");
    const asBob = repositoriesAt(app, open, bob.token);
    expect((await asBob.one(id)).status).to.equal(200);
    expectRefusal(await asBob.change(id, { type: "LOCAL" }), 403, "auth.role_missing");
    expectRefusal(await asBob.remove(id), 403, "auth.role_missing");
    expectRefusal(await app.get(`${open}/${id}`), 403, "auth.token_invalid");
  });

  it("of the instance is read with any token, without one while the setting is on", async () => {
    const { repositoryUuid: id } = await instance.local("common", "npm");
    const forms = scopes[2].forms.map((form) => `${form}/${id}`);
    const open = async (globalRegistryAnonymousAccess: boolean) => {
      const body = { globalRegistryAnonymousAccess };
      await app.post("/admin/settings/registry", { token: root.token, body });
    };
    for (const form of forms) {
      expect((await app.get(form, { token: bob.token })).status).to.equal(200);
      expect((await app.get(form)).status).to.equal(403);
      await open(true);
      expect((await app.get(form)).status).to.equal(200);
      await open(false);
    }
    const nowhere = await app.get("/registry/instance/nowhere/repositories", { token: bob.token });
    expectRefusal(nowhere, 404, "project.not_found");
    const body = { type: "LOCAL", repositoryName: "no", packageType: "npm" };
    const denied = await app.post("/registry/instance/repositories", { token: bob.token, body });
    expectRefusal(denied, 403, "auth.admin_required");
  });
});
