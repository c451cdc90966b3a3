import { expect } from "chai";

import { type Answer, startTestApp, type TestApp } from "../app/app.ts";

export type RepositoryView = Readonly<{ title: string; repositoryUuid: string }> &
  Readonly<Record<string, unknown>>;

/** Repositories of packages below one base path, as the holder of a token sees them. */
export function repositoriesAt(app: TestApp, base: string, token: string) {
  async function created(body: Readonly<Record<string, unknown>>): Promise<RepositoryView> {
    const answer = await app.post(base, { token, body });
    expect(answer.status, answer.text).to.equal(201);
    return answer.body as RepositoryView;
  }
  return {
    created,
    local: (repositoryName: string, packageType: string, settings: object = {}) =>
      created({ type: "LOCAL", repositoryName, packageType, settings }),
    proxy: (repositoryName: string, packageType: string, proxySettings: object) =>
      created({ type: "PROXY", repositoryName, packageType, proxySettings }),
    virtual: (repositoryName: string, packageType: string, virtualSettings: object) =>
      created({ type: "VIRTUAL", repositoryName, packageType, virtualSettings }),
    one: (id: string) => app.get(`${base}/${id}`, { token }),
    change: (id: string, body: object) => app.put(`${base}/${id}`, { token, body }),
    remove: (id: string) => app.delete(`${base}/${id}`, { token }),
    async titles(): Promise<readonly string[]> {
      const { body, text, status } = await app.get(`${base}?size=200`, { token });
      expect(status, text).to.equal(200);
      const lists = body["_embedded"] as Readonly<Record<string, RepositoryView[]>>;
      return (lists["shortRegistryRepositoryDtoList"] ?? []).map(({ title }) => title);
    },
  };
}

/** An app with a project of anna, and the repositories of packages in it. */
export async function startRegistryApp(options: Parameters<typeof startTestApp>[0] = {}) {
  const app = await startTestApp(options);
  const anna = await app.givenUser("anna");
  await app.givenProject(anna, "forge");
  return {
    app,
    anna,
    at: repositoriesAt(app, "/project/anna/forge/repositories", anna.token),
    baseOf: (name: string) => `${app.url}/registry/project/anna/forge/repository/${name}`,
    headers: { authorization: `Bearer ${anna.token}` },
  };
}

export function expectRefusal(
  { status, body, text }: Answer,
  expected: number,
  code: string,
): void {
  expect([status, body["code"]], text).to.deep.equal([expected, code]);
}
