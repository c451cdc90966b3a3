import { readdir, readFile } from "node:fs/promises";
import { expect } from "chai";

/** Files of the source that write addresses of the service; what a new one writes belongs into this list and into address.system.ts. */
const builders = [
  "git/push-offer.ts",
  ...["http/container/access.ts", "http/git/lfs-object.ts", "http/login/oidc-endpoint.ts"],
  ...["http/login/saml-endpoint.ts", "http/oauth/metadata.ts", "http/project/view.ts"],
  ...["http/registry/native.ts", "http/release/view.ts", "http/site/ops/ops-page.ts"],
  "http/site/registry/registry-page.ts",
  ...["projections/project/address.ts", "ssh/run.ts", "workers/merge-request/merge-message.ts"],
  ...["workers/merge-request/webhook-payload.ts", "workers/pipeline/job-variable.ts"],
  ...["workers/pipeline/merge-request-variable.ts", "workers/pipeline/payload.ts"],
  ...["workers/pipeline/predefined.ts", "workers/user/mail-text.ts"],
  ...["workers/user/notification-text.ts", "workers/webhook/payload-pipeline.ts"],
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
