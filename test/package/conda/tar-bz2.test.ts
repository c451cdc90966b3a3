import { expect } from "chai";

import { readConda } from "../../../src/package/conda/format.ts";
import { refused } from "../../support/app/refused.ts";
import { filesOf } from "../../support/git/archive.ts";
import { condaTarBz2 } from "../../support/package/conda-tar-bz2.ts";

const fileOf = await filesOf();
const fileName = "tool-1.0-py_0.tar.bz2";

describe("a package of conda's first format", () => {
  const read = async (content: Buffer, named: object = {}) =>
    readConda(await fileOf(content), { fileName, subdir: "linux-64", ...named });

  it("is read from the info that it begins with", async () => {
    const { metadata, version, packageName } = await read(condaTarBz2);
    expect(metadata).to.deep.include({ depends: ["lib >=1"], license: "MIT" });
    expect([packageName.name, version.version]).to.deep.equal(["tool", "1.0"]);
  });

  it("is refused when it is cut, or is not what its name says", async () => {
    const malformed = "package.file_malformed";
    for (let tenth = 0; tenth < 10; tenth += 1) {
      const cut = condaTarBz2.subarray(0, Math.floor((condaTarBz2.length * tenth) / 10));
      await refused(() => read(cut), malformed);
    }
    await refused(() => read(condaTarBz2.subarray(0, -1)), malformed, "it is cut");
    await refused(() => read(Buffer.from("PK no archive at all")), malformed);
    const other = { fileName: "tool-1.1-py_0.tar.bz2" };
    await refused(() => read(condaTarBz2, other), "package.file_mismatch");
    await refused(() => read(condaTarBz2, { subdir: "noarch" }), "package.file_mismatch");
    await refused(() => read(condaTarBz2, { fileName: "tool-1.0-py_0.conda" }), malformed);
  });
});
