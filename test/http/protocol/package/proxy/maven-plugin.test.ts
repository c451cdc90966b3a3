import { expect } from "chai";
import { startRegistryApp } from "../../../../support/client/registry.ts";
import { startUpstream } from "../../../../support/client/upstream.ts";
import { mavenPlugin } from "../../../../support/git/archive.ts";

describe("the plugins of a group of Maven in a virtual repository", () => {
  it("are those of local members and, by other prefixes, those of its proxies", async () => {
    const upstream = await startUpstream();
    const { at, baseOf, headers } = await startRegistryApp({ reachesLoopback: true });
    const path = "org/apache/maven/plugins";
    const listed = (prefix: string, id: string) =>
      `<plugin><name>x</name> <prefix>${prefix}</prefix> <artifactId> ${id} </artifactId></plugin>`;
    const others = listed("deploy", "elsewhere") + listed("site", "site-plugin") + listed("<", "x");
    upstream.answers.set(`/m/${path}/maven-metadata.xml`, (_request, response) =>
      response.end(`<metadata><plugins>${others}</plugins></metadata>`),
    );
    const own = await at.local("own", "maven");
    const far = await at.proxy("far", "maven", { url: `${upstream.url}/m` });
    const broken = await at.proxy("broken", "maven", { url: `${upstream.url}/broken` });
    const ids = [own, broken, far].map(({ repositoryUuid }) => repositoryUuid);
    const members = { includedRepositoryUuids: ids };
    await at.virtual("all", "maven", { ...members, allowRemoteProxying: true });
    await at.virtual("closed", "maven", members);
    const jar = `${baseOf("own")}/${path}/deploy-plugin/9/deploy-plugin-9.jar`;
    const body = new Uint8Array(mavenPlugin("deploy"));
    expect((await fetch(jar, { method: "PUT", headers, body })).status).to.equal(201);
    const prefixes = async (name: string) => {
      const answer = await fetch(`${baseOf(name)}/${path}/maven-metadata.xml`, { headers });
      const found = (await answer.text()).matchAll(
        /<prefix>(.*?)<\/prefix><artifactId>(.*?)<\/artifactId>/g,
      );
      return [...found].map(([, prefix, id]) => `${prefix} ${id}`);
    };
    expect(await prefixes("all")).to.deep.equal(["deploy deploy-plugin", "site site-plugin"]);
    expect(await prefixes("closed")).to.deep.equal(["deploy deploy-plugin"]);
  });
});
