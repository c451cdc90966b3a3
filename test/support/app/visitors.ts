import { expect } from "chai";

import type { TestApp, TestProject, TestUser } from "./app.ts";
import { loggedIn, type Visitor, visitor } from "./site-world.ts";

/** Browsers of people with each right in a public project of anna; others have none in it. */
export type Visitors = Readonly<{
  anna: TestUser;
  project: TestProject;
  /** Path of the project. */
  at: string;
  owner: Visitor;
  admin: Visitor;
  developer: Visitor;
  reporter: Visitor;
  /** No member. */
  other: Visitor;
  stranger: Visitor;
  /** Path of a private project of anna, who is its only member. */
  hidden: string;
}>;

export async function givenVisitors(app: TestApp): Promise<Visitors> {
  const anna = await app.givenUser("anna");
  const project = await app.givenProject(anna, "open", { private: false });
  await app.givenProject(anna, "hidden");
  const at = "/project/anna/open";
  const member = async (role: string): Promise<Visitor> => {
    const user = await app.givenUser(role.toLowerCase());
    const body = { userAlias: user.alias, role };
    const invited = await app.post(`${at}/member/invite`, { token: anna.token, body });
    expect(invited.status, invited.text).to.equal(200);
    return await loggedIn(app, user);
  };
  const hidden = "/project/anna/hidden";
  return {
    ...{ anna, project, at, hidden, stranger: visitor(app) },
    owner: await loggedIn(app, anna),
    admin: await member("ADMIN"),
    developer: await member("DEVELOPER"),
    reporter: await member("REPORTER"),
    other: await loggedIn(app, await app.givenUser("other")),
  };
}

/** Posts a form that no page shows to this visitor. */
export async function forced(
  who: Visitor,
  at: string,
  fields: Readonly<Record<string, string>> = {},
) {
  const { text } = await who.see("/console");
  const csrf = /name="csrf" value="([^"]+)"/.exec(text)?.[1] ?? "";
  return await who.post(at, { ...fields, csrf });
}

/** Checks that 31 rows fill one page of a list and begin another. @param name what each row differs by */
export async function expectTwoPages(who: Visitor, list: string, name: RegExp): Promise<void> {
  const namesOn = async (at: string) =>
    [...(await who.see(at)).text.matchAll(name)].map(([, each]) => each);
  const all = [await namesOn(list), await namesOn(`${list}?page=1`)];
  expect(all.map(({ length }) => length)).to.deep.equal([30, 1]);
  expect(new Set(all.flat()).size).to.equal(31);
  expect((await who.see(list)).text).to.contain(`href="${list}?page=1"`);
}

/** Checks that the page of pipelines leads to a list, and the list back, for administrators of the project alone. */
export async function expectLinksOfAdmins(
  { at, admin, developer, reporter, other }: Omit<Visitors, "anna" | "project">,
  list: string,
): Promise<void> {
  const pipelines = `${at}/cicd/pipeline`;
  expect((await admin.see(pipelines)).text).to.contain(`href="${list}"`);
  expect((await admin.see(list)).text).to.contain(`href="${pipelines}">Back`);
  for (const reader of [developer, reporter, other])
    expect((await reader.see(pipelines)).text).not.to.contain(list);
}
