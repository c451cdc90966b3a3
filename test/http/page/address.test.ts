import { readdir, readFile } from "node:fs/promises";
import { expect } from "chai";

/** Files of the source that write addresses of the service; what a new one writes belongs into this list and into address.system.ts. */
const builders = [
  "http/api/login/oidc-endpoint.ts",
  "http/api/login/saml-endpoint.ts",
  "http/api/project/view.ts",
  "http/api/release/view.ts",
  "http/page/ops/ops-page.ts",
  "http/page/registry/registry-page.ts",
  "http/protocol/lfs/object.ts",
  "http/protocol/oauth/metadata.ts",
  "http/protocol/oci/access.ts",
  "http/protocol/package/core/native.ts",
  "projections/project/address.ts",
  "services/git/push-offer.ts",
  "services/merge-request/merge-message.ts",
  "services/pipeline/job-variable.ts",
  "services/pipeline/merge-request-variable.ts",
  "services/pipeline/payload.ts",
  "services/pipeline/predefined.ts",
  "services/user/mail-text.ts",
  "services/user/notification-text.ts",
  "ssh/run.ts",
  "workers/merge-request/webhook-payload.ts",
  "workers/webhook/payload-pipeline.ts",
];

/** Files that look for addresses of the service in texts, and send none. */
const readers: ReadonlySet<string> = new Set(["platform/text-reference.ts"]);

describe("addresses that the service sends", () => {
  it("are made in files that this test knows", async () => {
    const files = (await readdir("src", { recursive: true })).filter(
      (name) => name.endsWith(".ts") && !readers.has(name),
    );
    const found: string[] = [];
    for (const file of files) {
      const text = await readFile(`src/${file}`, "utf8");
      if (/\$\{(?:\w+\.)?publicUrl\}/.test(text)) found.push(file);
    }
    expect(found.sort()).to.deep.equal(builders);
  });
});
