import { expect } from "chai";

import { startTestApp } from "../../support/app/app.ts";
import { leastLongestTurnMs } from "../../support/app/longest-turn.ts";
import { committed, visitor } from "../../support/app/site-world.ts";

const app = await startTestApp();
const anna = await app.givenUser("anna");
await app.givenProject(anna, "open", { private: false });
const open = "/project/anna/open";
const stranger = visitor(app);
before(() => committed(app, anna, open, { "README.md": "# Read me" }));

describe("pages of a project", () => {
  it("page the files and the lines of a large change", async () => {
    const lines = (from: number) =>
      Array.from({ length: 9_000 }, (_, index) => `line ${from + index}`).join("\n");
    const many = Object.fromEntries(
      Array.from({ length: 30 }, (_, index) => [`many/${index}.txt`, "one\ntwo\n"]),
    );
    const huge = {
      "many/huge.txt": "line\n".repeat(100_000),
      "docs/README.md": `# Big\n${"[".repeat(5 * 1024 ** 2)}`,
    };
    const long = { "many/long.txt": lines(0), "many/longer.txt": lines(5) };
    const all = { ...many, ...long, ...huge };
    const large = await committed(app, anna, open, all, { branch: "large", startBranch: "main" });
    const page = await stranger.see(`${open}/commit/${large}`);
    expect(page.text).to.contain("34 files changed").and.contain("?page=1");
    expect(page.text.match(/<tr class="op-add"/g)?.length).to.be.lessThan(2_001);
    const alone = await stranger.see(`${open}/commit/${large}?file=many%2Flong.txt`);
    expect(alone.text.match(/<tr class="op-add"/g)?.length).to.equal(3_000);
    expect(alone.text).to.contain("&amp;page=1");
    const huges = await stranger.see(`${open}/commit/${large}?file=many%2Fhuge.txt&page=33`);
    expect(huges.text.match(/<tr class="op-add"/g)?.length).to.equal(1_000);
    expect(huges.text).to.contain("99001–100000 of 100000").and.contain(">100000</td>");
    const readme = await stranger.see(`${open}/blob?commitHash=large&file=docs`);
    expect(readme.text).to.contain("too large to be shown here");
    const lastLines = await stranger.see(
      `${open}/blob?commitHash=large&file=many%2Fhuge.txt&page=33`,
    );
    expect(lastLines.text).to.contain('id="L100000"').and.not.contain('id="L98999"');
  });

  it("hold up nobody with a file of as many lines as bytes, in UTF-8 or not", async () => {
    const binary = Buffer.from("\xff\n".repeat(500_000), "latin1").toString("base64");
    const actions = [
      { action: "CREATE", path: "lines.txt", content: "\n".repeat(4_000_000) },
      { action: "CREATE", path: "bytes.txt", content: binary, encoding: "base64" },
    ];
    const body = { branch: "lines", startBranch: "main", message: "Add lines", actions };
    const made = await app.post(`${open}/commit`, { token: anna.token, body });
    expect(made.status, made.text).to.equal(200);
    for (const file of ["lines.txt", "bytes.txt"]) {
      const longest = await leastLongestTurnMs(async () => {
        const page = await stranger.see(`${open}/blob?commitHash=lines&file=${file}`);
        expect(page.text).to.contain('id="L3000"').and.not.contain('id="L3001"');
      });
      expect(longest, file).to.be.below(250);
    }
    // Each of these parts of the change is read once, and kept.
    let part = 0;
    const longest = await leastLongestTurnMs(async () => {
      part += 1;
      const at = `${open}/commit/${made.body["hash"]}?file=lines.txt&page=${part}`;
      expect((await stranger.see(at)).text).to.contain(`${part * 3_000 + 1}–`);
    });
    expect(longest, "of the change").to.be.below(250);
  }).timeout(60_000);
});
