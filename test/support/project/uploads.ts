import { startTestApp, type TestUser } from "../app/app.ts";

export async function givenUploads() {
  const app = await startTestApp();
  let anna: TestUser;
  let root: TestUser;
  before(async () => {
    anna = await app.givenUser("anna");
    root = await app.givenUser("root", { admin: true });
  });
  const holds = async () => Number((await app.deps.db("public.quota_hold").count())[0]!["count"]);
  return {
    ...{ app, holds },
    get anna() {
      return anna;
    },
    get root() {
      return root;
    },
  };
}
