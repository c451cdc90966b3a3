import { readdir, readFile, stat } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";

const decisions = path.join("docs", "adr");
const index = "README.md";

describe("documents", () => {
  for (const file of [
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "docs",
    path.join("docs", "api"),
    decisions,
  ]) {
    it(`in ${file} link to files that exist`, async () => {
      expect(await brokenLinks(await documentsIn(file))).to.deep.equal([]);
    });
  }

  it("name files and folders that exist", async () => {
    const named = await namedIn(/`((?:src|test|docs|bench|bin)\/[^`\s]+)`/g);
    expect(named.length).to.be.greaterThan(100);
    expect(await missing(named)).to.deep.equal([]);
  });

  it("run tests that exist", async () => {
    const named = await namedIn(/npx mocha ([^`]+)/g);
    expect(named.length).to.be.greaterThan(10);
    expect(await missing(named)).to.deep.equal([]);
  });

  it("list every decision with its number and title", async () => {
    const files = (await readdir(decisions)).filter((file) => file !== index);
    const listed = (await readFile(path.join(decisions, index), "utf8"))
      .split("\n")
      .flatMap((line) => /^(\| \d+ \| \[.*\]\(.*\)) \|/.exec(line)?.[1] ?? []);
    const expected = files.sort().map(async (file) => {
      const [heading = ""] = (await readFile(path.join(decisions, file), "utf8")).split("\n");
      const [, number = "", title = ""] = /^# (\d+)\. (.+)$/.exec(heading) ?? [];
      return `| ${number} | [${title}](${file})`;
    });
    expect(listed).to.deep.equal(await Promise.all(expected));
  });
});

type Named = Readonly<{ document: string; file: string }>;

/** Files and folders of this repository, each a word of what the first group of the form finds; patterns are left out. */
async function namedIn(form: RegExp): Promise<readonly Named[]> {
  const documents = ["README.md", "CONTRIBUTING.md", ...(await documentsIn("docs"))];
  const all = documents.map(async (document) =>
    [...(await readFile(document, "utf8")).matchAll(form)]
      .flatMap(([, found = ""]) => found.split(/\s+/))
      .filter((word) => /^(?:src|test|docs|bench|bin)\/[^<*]+$/.test(word))
      .map((file) => ({ document, file })),
  );
  return (await Promise.all(all)).flat();
}

async function missing(named: readonly Named[]): Promise<readonly string[]> {
  const all = named.map(async ({ document, file }) =>
    (await exists(file)) ? [] : [`${document}: ${file}`],
  );
  return (await Promise.all(all)).flat();
}

const exists = (file: string): Promise<boolean> =>
  stat(file).then(
    () => true,
    () => false,
  );

async function documentsIn(place: string): Promise<readonly string[]> {
  if (place.endsWith(".md")) return [place];
  const files = await readdir(place);
  return files.filter((file) => file.endsWith(".md")).map((file) => path.join(place, file));
}

async function brokenLinks(files: readonly string[]): Promise<readonly string[]> {
  const broken: string[] = [];
  for (const file of files) {
    for (const [, link = ""] of (await readFile(file, "utf8")).matchAll(/\]\(([^)#]+)/g)) {
      if (/^[a-z]+:/.test(link)) continue;
      if (!(await exists(path.join(path.dirname(file), link)))) broken.push(`${file}: ${link}`);
    }
  }
  return broken;
}
