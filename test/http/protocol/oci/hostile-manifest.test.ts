import { expect } from "chai";

import { startTestApp } from "../../../support/app/app.ts";
import { basicAuth } from "../../../support/app/basic-auth.ts";
import { longestTurnMs } from "../../../support/app/longest-turn.ts";
import { repositoriesAt } from "../../../support/client/registry.ts";

const app = await startTestApp();
const anna = await app.givenUser("anna");
await app.givenProject(anna, "forge");
const at = repositoriesAt(app, "/project/anna/forge/repositories", anna.token);

describe("a manifest of an image", () => {
  it("is refused when it has too many layers, and delays nobody", async () => {
    await at.local("images", "container");
    const body = `{"schemaVersion": 2, "layers": [${"{},".repeat(1_300_000)}{}]}`;
    const headers = {
      authorization: basicAuth("anna", anna.token),
      "content-type": "application/vnd.oci.image.manifest.v1+json",
    };
    const put = async () => {
      const url = `${app.url}/v2/anna/forge/images/many/manifests/1`;
      const answer = await fetch(url, { method: "PUT", headers, body });
      expect(answer.status).to.equal(400);
      expect(await answer.text()).to.contain("MANIFEST_INVALID");
    };
    expect(await longestTurnMs(put)).to.be.below(500);
  });
});
