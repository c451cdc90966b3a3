import { gunzipSync } from "node:zlib";
import { expect } from "chai";
import { nativeRegistry } from "../../../../support/client/native-registry.ts";
import { rpm } from "../../../../support/git/archive.ts";

const { at, baseOf, send, bytes, textOf } = await nativeRegistry();

before(() => at.local("rpms", "rpm"));

async function filelists(base: string): Promise<string> {
  const root = await textOf(`${base}/repodata/repomd.xml`);
  const data = /<data type="filelists">.*?<\/data>/s.exec(root)?.[0] ?? "";
  const href = /href="([^"]+)"/.exec(data)?.[1] ?? "";
  return gunzipSync(await bytes(`${base}/${href}`)).toString("utf8");
}

describe("a repository of RPM", () => {
  it("reads the files of large packages from their headers", async () => {
    const names = Array.from({ length: 20_000 }, (_, n) => `file-of-some-length-${n}`);
    const many = [
      [1116, 4, names.map(() => 0)],
      [1117, 8, names],
      [1118, 8, ["/usr/share/many/"]],
    ] as const;
    const base = baseOf("rpms");
    const answer = await send("PUT", `${base}/upload`, rpm("many", "1", "1", many));
    expect(answer.status, await answer.text()).to.equal(201);
    expect(await filelists(base)).to.contain(
      "<file>/usr/share/many/file-of-some-length-19999</file>",
    );
  });
});
