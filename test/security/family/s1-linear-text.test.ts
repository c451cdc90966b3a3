import { expect } from "chai";
import { entryPaths } from "../../../src/package/core/entry-path.ts";
import { checkNugetDependencies, isSemVer2 } from "../../../src/package/nuget/format.ts";
import { AnsiLines } from "../../../src/platform/ansi.ts";
import { openLog } from "../../../src/platform/log.ts";
import { processorMs } from "../../support/app/measure.ts";

/** A hundred times what each of them takes, and a tenth of what any of them took while it was quadratic. */
const timeMsMax = 200;

describe("text from outside takes time in proportion to its length", () => {
  const log = openLog("info", "test", { write: () => undefined });
  const logged: Readonly<Record<string, unknown>> = {
    "the path of a request": { path: `/x/${"a.".repeat(50_000)}` },
    "a status code of a login provider": { err: new Error("A+".repeat(100_000)) },
    "names of secret fields": { path: '"token":"\\'.repeat(50_000) },
    "lists of secrets": { tokens: Array.from({ length: 20_000 }, () => ({ token: [[]] })) },
    addresses: { path: "a://:a:".repeat(50_000) },
  };
  for (const [name, object] of Object.entries(logged)) {
    it(`${name} in a log`, async () => {
      expect(await processorMs(() => log.info(object, "answered"))).to.be.lessThan(timeMsMax);
    });
  }

  for (const path of [`x/a${"/".repeat(40_000)}b`, "./".repeat(40_000), "a/".repeat(40_000)]) {
    it(`paths of an archive: ${path.slice(0, 6)}…`, async () => {
      expect(await processorMs(() => entryPaths(10)(path))).to.be.lessThan(timeMsMax);
    });
  }

  it("ranges of dependencies of NuGet", async () => {
    expect(await processorMs(() => isSemVer2("-".repeat(40_000)))).to.be.lessThan(timeMsMax);
  });

  it("ranges of dependencies of NuGet at the upload, which are refused when they are longer than any that is needed", () => {
    const checked = (range: string) => () =>
      checkNugetDependencies([{ dependencies: [{ id: "Dep", range }] }]);
    expect(checked(`[1.0.0-${"a".repeat(600)}]`)).to.throw("is not a valid version range");
    expect(checked("[1.0.0-alpha.1, 2.0.0)")).not.to.throw();
  });

  it("lines of carriage returns in the log of a job", async () => {
    const line = `${"\r".repeat(9_990)}x`;
    const lines = new AnsiLines();
    const show = () => Array.from({ length: 52 }, () => lines.line(line));
    expect(await processorMs(show)).to.be.lessThan(timeMsMax);
  });
});
