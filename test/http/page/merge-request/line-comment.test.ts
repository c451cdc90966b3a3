import { expect } from "chai";

import type { Visit } from "../../../../src/http/page/core/route.ts";
import type { Discussion } from "../../../../src/http/page/merge-request/discussion.ts";
import { lineTalk } from "../../../../src/http/page/merge-request/line-comment.ts";
import type { ChangedFile } from "../../../../src/http/page/repository/diff.ts";

const names = { ownerAlias: "anna", projectAlias: "open" };
const view = {
  names,
  params: { ...names, localId: "1" },
  location: { names, revision: "main" },
  mayChange: false,
};

type Place = Readonly<{ newPath: string; oldPath: string; newLine?: number; oldLine?: number }>;

/** A discussion that counts how often it is shown. */
function discussion(place: Place, replyTexts: readonly string[] = []) {
  const note = {
    createdAt: "2026-01-02T03:04:05Z",
    ...{
      uuid: "00000000-0000-4000-8000-000000000001",
      author: { username: "anna", fullName: "Anna" },
    },
    ...{ resolved: false, outdated: false, initialNewLine: null, newLine: null, oldLine: null },
  };
  let shown = 0;
  const rootNote = {
    ...note,
    ...place,
    ...{ repliesTotal: replyTexts.length, truncated: false },
    get message() {
      shown += 1;
      return "First";
    },
  };
  const replies = replyTexts.map((message) => ({ ...note, message }));
  const one = { rootNote, replies } as unknown as Discussion;
  return { one, shown: () => shown };
}

const file = (newPath: string, oldPath: string) =>
  ({ newPath, oldPath, filePath: newPath === "/dev/null" ? oldPath : newPath }) as ChangedFile;
const line = (number: number) =>
  ({ type: "line", addLineNumber: number, removeLineNumber: null }) as ChangedFile["lines"][number];

const talkOf = (items: readonly Discussion[]) => {
  const operations = { list: async () => ({ items, totalElements: items.length }) };
  return lineTalk("", view, [], { operations } as unknown as Visit);
};

describe("discussions at the lines of a merge request", () => {
  it("are shown once at an added or removed file, however many others there are", async () => {
    const added = discussion({ newPath: "a1", oldPath: "/dev/null", newLine: 2 });
    const removed = discussion({ newPath: "/dev/null", oldPath: "r1", oldLine: 2 });
    const talk = await talkOf([added.one, removed.one]);
    for (const name of ["a1", "a2", "a3"]) await talk.partsOf(file(name, "/dev/null"));
    for (const name of ["r1", "r2", "r3"]) await talk.partsOf(file("/dev/null", name));
    expect([added.shown(), removed.shown()]).to.deep.equal([1, 1]);
    const { below } = await talk.partsOf(file("a1", "/dev/null"));
    expect(below?.(line(2))?.markup).to.include("First");
    expect(below?.(line(1))).to.equal(undefined);
  });

  it("are those of the files that are shown, where there are more than are read", async () => {
    const queries: unknown[] = [];
    const own = { ...discussion({ newPath: "b", oldPath: "a", newLine: 2 }).one };
    const operations = {
      async list(_: string, __: unknown, { query }: Readonly<{ query?: unknown }>) {
        queries.push(query);
        return query === undefined
          ? { items: [], totalElements: 101 }
          : { items: [own], totalElements: 501 };
      },
    };
    const shown = file("b", "a");
    const visit = { operations } as unknown as Visit;
    const talk = await lineTalk("", view, [shown, file("c", "/dev/null")], visit);
    expect(queries).to.deep.equal([undefined, { filePath: ["b", "a", "c"] }]);
    const { below } = await talk.partsOf(shown);
    expect(below?.(line(2))?.markup).to.include("First");
    expect(talk.hint?.markup).to.include("The first 500 discussions of these files");
  });

  it("have their last replies, and a link to all of them", async () => {
    const place = { newPath: "a", oldPath: "a", newLine: 1 };
    const texts = Array.from({ length: 25 }, (_, n) => `reply-number-${n}-`);
    const { below } = await (await talkOf([discussion(place, texts).one])).partsOf(file("a", "a"));
    const { markup = "" } = below?.(line(1)) ?? {};
    expect(markup.match(/reply-number-\d+-/g)).to.deep.equal(texts.slice(5));
    expect(markup).to.include(
      'href="/project/anna/open/merge-request/1?discussion=00000000-0000-4000-8000-000000000001">all 25<',
    );
  });
});
