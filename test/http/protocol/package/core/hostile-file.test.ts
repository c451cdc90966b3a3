import { gzipSync } from "node:zlib";
import { expect } from "chai";

import { basicAuth } from "../../../../support/app/basic-auth.ts";
import { longestTurnMs } from "../../../../support/app/longest-turn.ts";
import { startRegistryApp } from "../../../../support/client/registry.ts";
import { tar, tgz } from "../../../../support/git/archive.ts";

const { anna, at, baseOf } = await startRegistryApp();

const documents: Readonly<Record<string, string>> = {
  "600 nested keys": `${"? ".repeat(600)}x`,
  "10,000 nested lists": `${"- ".repeat(10_000)}x`,
  "nested keys in flow style": `${"{? ".repeat(600)}x${"}".repeat(600)}`,
  "60 nested keys": `${"? ".repeat(60)}x`,
  "aliases of aliases": Array.from({ length: 40 }, (_, n) =>
    n === 0 ? "a0: &a0 [x, x]" : `a${n}: &a${n} [*a${n - 1}, *a${n - 1}]`,
  ).join("\n"),
};

const gem = (yaml: string): Buffer =>
  tar([
    ["metadata.gz", gzipSync(yaml)],
    ["data.tar.gz", gzipSync(Buffer.alloc(1024))],
  ]);

const uploads = {
  helm: {
    path: "api/charts",
    body: (yaml: string) => tgz([["pad/Chart.yaml", yaml]]),
    authorization: basicAuth("anna", anna.token),
  },
  rubygem: { path: "api/v1/gems", body: gem, authorization: anna.token },
} as const;

describe("a package whose metadata takes long to read", () => {
  before(async () => {
    await at.local("helm", "helm");
    await at.local("rubygem", "rubygem");
  });

  for (const [type, { path, body, authorization }] of Object.entries(uploads)) {
    for (const [name, yaml] of Object.entries(documents)) {
      it(`of ${type} with ${name} is refused, and delays nobody`, async () => {
        const headers = { authorization, "content-type": "application/octet-stream" };
        const upload = async () => {
          const url = `${baseOf(type)}/${path}`;
          const sent = { method: "POST", headers, body: new Uint8Array(body(yaml)) };
          const answer = await fetch(url, sent);
          expect(answer.status, await answer.text()).to.equal(422);
        };
        expect(await longestTurnMs(upload)).to.be.below(500);
      });
    }
  }
});
