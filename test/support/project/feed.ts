import { type Answer, startTestApp, type TestProject, type TestUser } from "../app/app.ts";

export type Served = Readonly<{ position: string; type: string; version: number; data: object }>;

export type Sent = Readonly<{ id: string; event: string; data: string }>;

export const project = "/project/anna/search";

export const events = ({ body }: Answer) =>
  (body["_embedded"] as { eventList: Served[] }).eventList;

export function parsed(block: string): Sent {
  const field = (name: string) => new RegExp(`^${name}: ?(.*)$`, "m").exec(block)?.[1] ?? "";
  return { id: field("id"), event: field("event"), data: field("data") };
}

export async function givenFeed() {
  const app = await startTestApp();
  let anna: TestUser;
  let bob: TestUser;
  let root: TestUser;
  let forge: TestProject;
  before(async () => {
    anna = await app.givenUser("anna");
    bob = await app.givenUser("bob");
    root = await app.givenUser("root", { admin: true });
    forge = await app.givenProject(anna, "search", { private: true });
  });
  const rename = (title: string) =>
    app.put(`${project}/setting/change-setting`, { token: anna.token, body: { title } });
  return {
    ...{ app, rename },
    get anna() {
      return anna;
    },
    get bob() {
      return bob;
    },
    get root() {
      return root;
    },
    get forge() {
      return forge;
    },
  };
}
