import { expect } from "chai";
import { type Answer, startTestApp, type TestUser } from "./app.ts";

type Entry = Readonly<{ eventId: string; type: string; causationId: string | null }>;

const project = "/project/anna/search";

export async function givenChanges() {
  const app = await startTestApp();
  let anna: TestUser;
  let bob: TestUser;
  before(async () => {
    anna = await app.givenUser("anna");
    bob = await app.givenUser("bob");
    await app.givenProject(anna, "search", { private: false });
    const actions = [{ action: "CREATE", path: "a.txt", content: "a", encoding: "text" }];
    await done("post", "/commit", { branch: "main", message: "a", actions });
  });
  /** Requests something in the project as anna, and gives the answer. */
  async function done(method: "post" | "put" | "delete" | "get", at: string, body?: unknown) {
    const answer = await app[method](at.startsWith("/team") ? at : project + at, {
      token: anna.token,
      ...(body === undefined ? {} : { body }),
    });
    expect(answer.status, `${method} ${at}: ${answer.text}`).to.be.within(200, 204);
    return answer;
  }
  /** The newest event of a type. */
  async function last(type: string, place = project): Promise<Entry> {
    const answer = await app.get(`${place}/audit?type=${type}&size=1`, { token: anna.token });
    const [entry] = (answer.body["_embedded"] as { auditEntryList: Entry[] }).auditEntryList;
    expect(entry, type).to.not.equal(undefined);
    return entry as Entry;
  }
  const undo = (eventId: string, token = anna.token, place = project): Promise<Answer> =>
    app.post(`${place}/undo`, { token, body: { eventId } });
  async function undone(type: string, place = project): Promise<string> {
    const { eventId } = await last(type, place);
    // Ids are taken in any case.
    const answer = await undo(eventId.toUpperCase(), anna.token, place);
    expect(answer.status, answer.text).to.equal(200);
    expect(answer.body["causationId"]).to.equal(eventId);
    return String(answer.body["type"]);
  }
  async function refused(eventId: string, text: RegExp): Promise<void> {
    const { status, body } = await undo(eventId);
    expect([status, body["code"]]).to.deep.equal([409, "undo.impossible"]);
    expect(body["message"]).to.match(text);
  }
  return {
    ...{ app, done, last, undo, undone, refused },
    get anna() {
      return anna;
    },
    get bob() {
      return bob;
    },
  };
}
