import { expect } from "chai";

import { type PumpJob, pump } from "../support/process/pump.ts";
import { parsersIn } from "../support/syntax/parser.ts";
import { charactersOf, piecesOf } from "../support/syntax/pump.ts";
import { parsedSources } from "../support/syntax/source.ts";

/** What users, other services and their files reach: all rooms but these, so that a new one is not forgotten. */
const layers = /^src\/(?!(?:cli|commands|embedded|events|projections|workers)\/)[^/]+\//;
/** They start programs, threads and connections, and read no text. */
const starting = /^(?:open|start|install)[A-Z]|^clientOf$/;
/** For 20,000 characters, in proportion for fewer: a hundred times what most parsers take. */
const timeMsMax = 50;
const piecesMax = 160;

/** Functions that no text from outside reaches, or none of that length. */
const elsewhere: Readonly<Record<string, string>> = {
  "src/http/protocol/git/path.ts: repositoryPath": "its text is an expression of the program",
  "src/platform/event-store/url.ts: eventStoreUrlProblem": "operators write its text",
  "src/platform/linear-pattern.ts: linearPattern":
    "who calls it bounds its text: 255 characters of a template, 1,024 of a pipeline file",
  "src/platform/name-template.ts: compileTemplate": "a template has 255 characters at most",
  "src/platform/name-template.ts: matchesTemplate":
    "a template and a name have 255 characters at most",
  "src/package/conan/format.ts: conanPattern": "a search has 200 characters at most",
};

/** Milliseconds of what is linear, but dear: large texts are read in processes with limits. */
const dear: Readonly<Record<string, number>> = {
  "src/platform/markdown/render.ts: renderMarkdown": 1_000,
  "src/package/helm/format.ts: chartOf": 500,
  "src/package/rubygem/format.ts: gemYaml": 500,
};

describe("every function that reads a text", () => {
  const sources = parsedSources();
  const jobs: PumpJob[] = [];
  for (const [file, source] of sources) {
    if (!layers.test(file)) continue;
    const pieces = piecesOf(charactersOf(source)).slice(0, piecesMax);
    for (const parser of parsersIn(file, source)) {
      const name = `${file}: ${parser.name}`;
      if (starting.test(parser.name) || name in elsewhere) continue;
      jobs.push({ parser, pieces, timeMsMax: dear[name] ?? timeMsMax });
    }
  }
  const log = charactersOf(sources.get("src/platform/log.ts")!);
  const logged = {
    file: "test/support/process/logged.ts",
    name: "logged",
    args: ["text"],
  } as const;
  jobs.push({ parser: logged, pieces: piecesOf(log), timeMsMax });

  it("is found", () => expect(jobs.length).to.be.greaterThan(250));

  it("takes a bounded time, whatever character that it knows is repeated", async () => {
    expect(await pump(jobs)).to.deep.equal([]);
  });
});
