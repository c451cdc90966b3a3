import { expect } from "chai";

import { parseCodeOwners } from "../../../src/git/owners/code-owners.ts";
import { compileSection, decidingEntry } from "../../../src/git/owners/owner-match.ts";
import { TooManySteps } from "../../../src/git/owners/path-glob.ts";

/** Section → owners of a file; sections that say nothing about it are left out. */
function ownersOf(
  text: string,
  path: string,
  steps = 1_000_000,
): Record<string, readonly string[]> {
  const found: Record<string, readonly string[]> = {};
  for (const section of parseCodeOwners(text)) {
    const entry = decidingEntry(compileSection(section), path.split("/"), { steps });
    if (entry !== undefined) found[section.name] = entry.owners;
  }
  return found;
}

const owners = (text: string, path: string) => ownersOf(text, path)[""];

describe("a CODEOWNERS file", () => {
  it("gives a file to the owners of the last pattern that matches", () => {
    const text =
      "* @default-owner\n*.rb @ruby-owner\n*.rb @other\nLICENSE @legal janedoe@gitlab.com\n";
    expect(owners(text, "readme.md")).to.deep.equal(["@default-owner"]);
    expect(owners(text, "app/models/user.rb")).to.deep.equal(["@other"]);
    expect(owners(text, "LICENSE")).to.deep.equal(["@legal", "janedoe@gitlab.com"]);
    expect(owners(text, "deep/LICENSE")).to.deep.equal(["@legal", "janedoe@gitlab.com"]);
  });

  for (const [pattern, matching, others] of [
    ["/docs/", ["docs/a.md", "docs/b/c.md", "docs/.hidden"], ["a/docs/b.md", "docs"]],
    ["docs/", ["docs/a.md", "x/docs/b/c.md"], ["docs", "mydocs/a"]],
    ["/docs/*", ["docs/a.md"], ["docs/a/b.md"]],
    ["/docs/*.md", ["docs/a.md"], ["docs/a.txt", "docs/x/a.md"]],
    ["/docs/**/*.md", ["docs/a.md", "docs/x/y/a.md"], ["a.md", "docs/a.txt"]],
    ["/docs/**/index.md", ["docs/index.md", "docs/x/index.md"], ["docs/x/other.md"]],
    ["lib/", ["lib/a", "x/lib/a"], ["lib"]],
    [
      "/config/db/database-setup.md",
      ["config/db/database-setup.md"],
      ["x/config/db/database-setup.md"],
    ],
    ["README.md", ["README.md", "internal/README.md", "app/lib/README.md"], ["README.md.txt"]],
    ["internal/README.md", ["internal/README.md", "docs/internal/README.md"], ["README.md"]],
    ["/path/to/index.*", ["path/to/index.md", "path/to/index.html"], ["path/to/other.md"]],
    ["model/db/", ["model/db/a", "x/model/db/b/c"], ["model/a"]],
    ["\\#file_with_pound.rb", ["#file_with_pound.rb"], ["file_with_pound.rb"]],
    ["path\\ with\\ spaces/", ["path with spaces/a.md"], ["path/a"]],
    ["file?.[ch]", ["file1.c", "x/file2.h"], ["file.c", "file12.c", "file1.x"]],
    ["[!a]bc", ["xbc"], ["abc"]],
    ["a*b*c", ["abc", "axxbyyc"], ["ab", "abcd"]],
    ["*", ["a", "b/c", ".x/y"], []],
    ["**/*.rb", ["a.rb", "b/c.rb"], ["a.py"]],
  ] as const) {
    it(`reads the pattern ${pattern} as GitLab does`, () => {
      for (const path of matching)
        expect(owners(`${pattern} @x`, path), path).to.deep.equal(["@x"]);
      for (const path of others) expect(owners(`${pattern} @x`, path), path).to.equal(undefined);
    });
  }

  it("keeps sections apart, joins those of one name, and takes their default owners", () => {
    const text = [
      "* @all",
      "[Documentation] @docs-team",
      "docs/",
      "README.md",
      "[Database] @database-team",
      "model/db/",
      "config/db/database-setup.md @docs-team",
      "[DOCUMENTATION]",
      "more/ @more",
    ].join("\n");
    expect(ownersOf(text, "docs/a.md")).to.deep.equal({
      "": ["@all"],
      Documentation: ["@docs-team"],
    });
    expect(ownersOf(text, "model/db/a")).to.deep.equal({
      "": ["@all"],
      Database: ["@database-team"],
    });
    expect(ownersOf(text, "config/db/database-setup.md")["Database"]).to.deep.equal(["@docs-team"]);
    expect(ownersOf(text, "more/a")["Documentation"]).to.deep.equal(["@more"]);
  });

  it("reads optional sections and how many have to agree", () => {
    const text =
      "[Must]\na @x\n^[May]\nb @x\n[Two][2] @x @y\nc\n^[None][3]\nd @x\n[Zero][0]\ne @x\n";
    const sections = parseCodeOwners(text).map(({ name, optional, approvals }) => [
      name,
      optional,
      approvals,
    ]);
    expect(sections).to.deep.equal([
      ["Must", false, 1],
      ["May", true, 1],
      ["Two", false, 2],
      ["None", true, 3],
      ["Zero", false, 1],
    ]);
  });

  it("lets the last pattern take owners away, and an exclusion for good", () => {
    expect(owners("* @all\npom.xml\n", "pom.xml")).to.deep.equal([]);
    expect(owners("* @all\n!pom.xml\n", "pom.xml")).to.equal(undefined);
    expect(owners("* @all\n!*.rb\n/special/*.rb @ruby\n", "special/a.rb")).to.equal(undefined);
  });

  it("takes names of roles, groups and addresses, and nothing else, for owners", () => {
    const text = "a @@developer @group/sub-group x@y.z not-an-owner # @remark\n# b @x\n";
    expect(owners(text, "a")).to.deep.equal(["@@developer", "@group/sub-group", "x@y.z"]);
    expect(owners(text, "b")).to.equal(undefined);
  });

  it("survives what is malformed", () => {
    for (const text of [
      "[",
      "[]",
      "[a",
      "^",
      "!",
      "\\",
      "[[[[ @x",
      "* ",
      "\0 @x",
      "[a][99999] @x\nb",
    ]) {
      expect(() => ownersOf(text, "a/b"), text).not.to.throw();
    }
  });

  it("ends when it takes more steps than it may", () => {
    const text = Array.from({ length: 500 }, (_, n) => `*${"?".repeat(n)}a* @x`).join("\n");
    expect(() => ownersOf(text, "a/b/c", 1_000)).to.throw(TooManySteps);
  });
});
