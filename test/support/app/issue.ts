import { expect } from "chai";

import type { Answer, TestApp, TestUser } from "./app.ts";

export type Json = Record<string, unknown>;

/** Requests about the issues of one project, by one user unless another is named. */
export function issueClient(app: TestApp, user: TestUser, project: string) {
  const base = `/project/${project}`;
  const details = { title: "Search", description: "It finds nothing." };
  const as = (by: TestUser, body?: object) => ({ token: by.token, ...(body && { body }) });

  const create = (body: object = {}, by = user) =>
    app.post(`${base}/issue`, as(by, { ...details, ...body }));
  const edit = (localId: unknown, body: object = {}, by = user) =>
    app.put(`${base}/issue/${localId}/edit`, as(by, { ...details, ...body }));
  const get = (localId: unknown, by = user) => app.get(`${base}/issue/${localId}`, as(by));
  const remove = (localId: unknown, by = user) =>
    app.delete(`${base}/issue/${localId}/delete`, as(by));

  return {
    base,
    details,
    create,
    edit,
    get,
    remove,
    created: async (body: object = {}, by = user) => expectOk(await create(body, by)),
    edited: async (localId: unknown, body: object = {}, by = user) =>
      expectOk(await edit(localId, body, by)),
    async list(query = "", by = user) {
      const { _embedded, page } = expectOk(await app.get(`${base}/issue${query}`, as(by)));
      const issues = (_embedded as Json)["issueModelList"] as Json[];
      return { issues, ids: issues.map(({ localId }) => localId), page: page as Json };
    },
    async label(body: object): Promise<Json> {
      return expectOk(await app.post(`${base}/label`, as(user, body)));
    },
    async invite(userAlias: string, role: string): Promise<void> {
      expectOk(await app.post(`${base}/member/invite`, as(user, { userAlias, role })));
    },
  };
}

export function expectOk(answer: Answer): Json {
  expect(answer.status, answer.text).to.equal(200);
  return answer.body;
}
