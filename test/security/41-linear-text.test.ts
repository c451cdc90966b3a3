import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "chai";

import { AnsiLines } from "../../src/platform/ansi.ts";
import { openLog } from "../../src/platform/log.ts";
import { entryPaths } from "../../src/platform/package/entry-path.ts";
import { isSemVer2, readNuspec } from "../../src/platform/package/nuget.ts";
import { processorMs } from "../support/app/measure.ts";
import { nupkg } from "../support/git/archive.ts";

/** A hundred times what each of them takes, and a tenth of what any of them took while it was quadratic. */
const timeMsMax = 200;

describe("text from outside takes time in proportion to its length", () => {
  const log = openLog("info", "test", { write: () => undefined });
  const logged: Readonly<Record<string, unknown>> = {
    "2: the path of a request": { path: `/x/${"a.".repeat(50_000)}` },
    "2: a status code of a login provider": { err: new Error("A+".repeat(100_000)) },
    "2: names of secret fields": { path: '"token":"\\'.repeat(50_000) },
    "2: lists of secrets": { tokens: Array.from({ length: 20_000 }, () => ({ token: [[]] })) },
    "2: addresses": { path: "a://:a:".repeat(50_000) },
  };
  for (const [name, object] of Object.entries(logged)) {
    it(`${name} in a log`, async () => {
      expect(await processorMs(() => log.info(object, "answered"))).to.be.lessThan(timeMsMax);
    });
  }

  for (const path of [`x/a${"/".repeat(40_000)}b`, "./".repeat(40_000), "a/".repeat(40_000)]) {
    it(`3: paths of an archive: ${path.slice(0, 6)}…`, async () => {
      expect(await processorMs(() => entryPaths(10)(path))).to.be.lessThan(timeMsMax);
    });
  }

  it("4: ranges of dependencies of NuGet", async () => {
    expect(await processorMs(() => isSemVer2("-".repeat(40_000)))).to.be.lessThan(timeMsMax);
  });

  it("4: refuses a range of a dependency that is longer than any that is needed", async () => {
    const directory = await mkdtemp(path.join(tmpdir(), "range-"));
    const file = path.join(directory, "p.nupkg");
    const dependency = (range: string) =>
      `<dependencies><dependency id="Dep" version="${range}"/></dependencies>`;
    await writeFile(file, nupkg("Tool", "1.0.0", dependency("-".repeat(40_000))));
    await expect(readNuspec(file)).to.be.rejectedWith("at most 512 characters");
    await writeFile(file, nupkg("Tool", "1.0.0", dependency("[1.0.0-alpha.1, 2.0.0)")));
    expect((await readNuspec(file)).metadata.dependencyGroups).to.have.length(1);
    await rm(directory, { recursive: true });
  });

  it("5: lines of carriage returns in the log of a job", async () => {
    const line = `${"\r".repeat(9_990)}x`;
    const lines = new AnsiLines();
    const show = () => Array.from({ length: 52 }, () => lines.line(line));
    expect(await processorMs(show)).to.be.lessThan(timeMsMax);
  });
});
