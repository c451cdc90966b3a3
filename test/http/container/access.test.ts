import { expect } from "chai";

import { startTestApp } from "../../support/app.ts";

const app = await startTestApp();

describe("the challenge of the registry of containers", () => {
  it("names the image that a blob is mounted from", async () => {
    const target = "anna/forge/images/mounted";
    const source = "anna/forge/images/source";
    const challenged = async (query: string) => {
      const url = `${app.url}/v2/${target}/blobs/uploads/?${query}`;
      const { headers } = await fetch(url, { method: "POST" });
      return /scope="([^"]*)"/.exec(headers.get("www-authenticate") ?? "")?.[1];
    };
    const own = `repository:${target}:pull,push`;
    const mount = `mount=sha256:${"0".repeat(64)}`;
    const both = `${own} repository:${source}:pull`;
    expect(await challenged(`${mount}&from=${source}`)).to.equal(both);
    const others = ["", "&from=a%22,x=%22b", "&from=A/b", `&from=${"a/".repeat(200)}b`];
    for (const other of others) expect(await challenged(mount + other), other).to.equal(own);
    expect(await challenged(`from=${source}`), "nothing to mount").to.equal(own);
  });
});
