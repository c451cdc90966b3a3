import { readFileSync } from "node:fs";
import { expect } from "chai";

import { type CommandName, type Help, help, helpOf, overview } from "../../src/cli/help.ts";

/** What processes of the service start one another with. */
const internal = ["supervised"];
const moreFiles: Readonly<Record<string, readonly string[]>> = { audit: ["audit-verify"] };

/** The names of the options that the source of a command reads. */
function optionsReadBy(name: string): readonly string[] {
  const files = [name, ...(moreFiles[name] ?? [])].map((file) => `src/cli/${file}.ts`);
  const text = files.map((file) => readFileSync(file, "utf8")).join("\n");
  return [...text.matchAll(/(?:"([a-z-]+)"|\b([a-z]+)): (?:text\b|flag\b|\{ type:)/g)]
    .map(([, quoted, bare]) => quoted ?? bare ?? "")
    .filter((option) => !internal.includes(option));
}

describe("the help of a command", () => {
  for (const name of Object.keys(help) as readonly CommandName[]) {
    it(`names each option of ${name}, and no other`, () => {
      const { options = {} }: Help = help[name];
      const named = Object.keys(options).map((option) => option.replace(/^--/, "").split(" ")[0]);
      expect(named).to.have.members([...new Set(optionsReadBy(name))]);
    });

    it(`shows ${name} by an example, in lines of a screen`, () => {
      expect(help[name].example).to.include(`ledgerforge ${name}`);
      for (const line of helpOf(name).split("\n")) expect(line.length, line).to.be.at.most(120);
    });
  }

  it("is reached from the list of all commands", () => {
    expect(overview()).to.include("ledgerforge help <command>");
    for (const name of Object.keys(help))
      expect(overview()).to.match(new RegExp(`^ {2}${name} `, "m"));
  });
});
