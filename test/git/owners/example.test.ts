import { expect } from "chai";

import { parseCodeOwners } from "../../../src/git/owners/code-owners.ts";
import { compileSection, decidingEntry } from "../../../src/git/owners/owner-match.ts";

/** Each rule of the example of GitLab's documentation, in its order, with names of its own. */
const example = [
  "# A remark.",
  "# src/ @remarked",
  "* @anybody",
  "* @first @second\t@third",
  "*.rb @ruby",
  "\\#pound.rb @pound",
  "CODEOWNERS @first @second\t@third",
  "LICENSE @lawyers no_owner jane@example.org",
  "README @group @group/with-nested/subgroup",
  "/docs/ @every-doc",
  "/docs/* @top-doc",
  "/docs/**/*.md @markdown",
  "lib/ @libraries",
  "/config/ @settings",
  "path\\ with\\ spaces/ @spaces",
  "",
  "[Documentation]",
  "ee/docs    @writers",
  "docs       @writers",
  "",
  "[Development] @developers",
  "*",
  "README.md @writers",
  "data-models/ @analysts",
  "",
  "# Joined with the section of the same name.",
  "[DOCUMENTATION]",
  "README.md  @editors",
  "",
].join("\n");

const [defaults, developers] = [["@first", "@second", "@third"], ["@developers"]] as const;
const expected = {
  "main.c": { "": defaults, Development: developers },
  "app/models/user.rb": { "": ["@ruby"], Development: developers },
  "#pound.rb": { "": ["@pound"], Development: developers },
  CODEOWNERS: { "": defaults, Development: developers },
  LICENSE: { "": ["@lawyers", "jane@example.org"], Development: developers },
  README: { "": ["@group", "@group/with-nested/subgroup"], Development: developers },
  "docs/api/index.html": { "": ["@every-doc"], Development: developers },
  "docs/index.html": { "": ["@top-doc"], Development: developers },
  "docs/api/index.md": { "": ["@markdown"], Development: developers },
  "docs/index.md": { "": ["@markdown"], Development: developers },
  "src/lib/a.c": { "": ["@libraries"], Development: developers },
  "config/a.yml": { "": ["@settings"], Development: developers },
  "src/config/a.yml": { "": defaults, Development: developers },
  "path with spaces/a.c": { "": ["@spaces"], Development: developers },
  "ee/docs": { "": defaults, Documentation: ["@writers"], Development: developers },
  "README.md": { "": defaults, Documentation: ["@editors"], Development: ["@writers"] },
  "src/data-models/a.sql": { "": defaults, Development: ["@analysts"] },
};

describe("the example of GitLab's documentation of CODEOWNERS", () => {
  it("demands of each file what the documentation says", () => {
    const sections = parseCodeOwners(example)
      .filter(({ optional }) => !optional)
      .map(compileSection);
    const ownersOf = (path: string) =>
      sections.flatMap((matcher) => {
        const entry = decidingEntry(matcher, path.split("/"), { steps: 1_000 });
        const owners = entry?.owners ?? [];
        return owners.length === 0 ? [] : [[matcher.section.name, owners] as const];
      });
    const found = Object.keys(expected).map((path) => [path, Object.fromEntries(ownersOf(path))]);
    expect(Object.fromEntries(found)).to.deep.equal(expected);
  });
});
