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
      const exists = await stat(path.join(path.dirname(file), link)).then(
        () => true,
        () => false,
      );
      if (!exists) broken.push(`${file}: ${link}`);
    }
  }
  return broken;
}
