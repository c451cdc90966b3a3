import { expect } from "chai";

import {
  parseRegistration,
  type RegistrationQuestion,
} from "../../../src/package/nuget/registration.ts";
import { readRegistration } from "../../../src/package/nuget/registration-reader.ts";
import { turnsWhile } from "../../support/app/longest-turn.ts";

const base = "https://forge.example.org/net";
const leaf = (version: string, more: object = {}) => ({ catalogEntry: { version, ...more } });
const page = (items?: readonly object[]) => ({
  "@id": "https://far.example.org/page",
  ...{ count: 1, lower: "1.0.0", upper: "9.0.0" },
  ...(items && { items }),
});
const answerFor = (
  document: unknown,
  more: Partial<RegistrationQuestion> = {},
): RegistrationQuestion => ({
  bytes: new TextEncoder().encode(
    typeof document === "string" ? document : JSON.stringify(document),
  ),
  ...{ of: "index", key: "pad", base, hive: "registration", want: { kind: "index" } },
  ...more,
});
const versions = (count: number) => Array.from({ length: count }, (_, n) => leaf(`1.${n}`));
const needs = (count: number) => ({ dependencyGroups: [{ dependencies: Array(count).fill(one) }] });
const one = { id: "" };

describe("a registration of NuGet from another registry", () => {
  it("says where a version is that its index does not have", () => {
    const want = { kind: "leaf", version: "2.0.0" } as const;
    const index = parseRegistration(answerFor({ items: [page()] }, { want }));
    if (index.kind !== "elsewhere") throw new Error(index.kind);
    expect(index.page.url).to.equal("https://far.example.org/page");
    const document = page([leaf("1.0"), leaf("2.0", { published: "2020" })]);
    const found = parseRegistration(answerFor(document, { of: index.page, want }));
    const text = found.kind === "json" ? new TextDecoder().decode(found.bytes) : found.kind;
    expect(JSON.parse(text)).to.deep.equal({
      "@id": `${base}/registration/pad/2.0.0.json`,
      packageContent: `${base}/flat/pad/2.0.0/pad.2.0.0.nupkg`,
      registration: `${base}/registration/pad/index.json`,
      published: "2020",
      catalogEntry: `${base}/registration/pad/2.0.0.json`,
    });
  });

  it("is refused with too many versions, dependencies or pages, or nested too deep", () => {
    const half = page(versions(2_500));
    const deep = `{"items":[],"more":${"[".repeat(60_000)}${"]".repeat(60_000)}}`;
    const kinds = [
      ...[{ items: [half, half] }, { items: [page([leaf("1.0", needs(20_000))])] }],
      ...[{ items: Array(2_000).fill(page()) }, { items: [half, half, page(versions(1))] }],
      { items: [page([leaf("1.0", needs(10_000)), leaf("1.1", needs(10_001))])] },
      { items: Array(2_001).fill(page()) },
    ].map((document) => parseRegistration(answerFor(document)).kind);
    const refused = ["malformed", "malformed", "malformed"];
    expect(kinds).to.deep.equal(["json", "json", "json", ...refused]);
    const nested = `{"items":[${JSON.stringify(page([leaf("1.0", { x: 0 })])).replace("0}", `${deep}}`)}]}`;
    expect(parseRegistration(answerFor(nested)).kind).to.equal("malformed");
  });

  it("that is large is read while other work goes on", async () => {
    const large = answerFor({ items: [page(versions(5_000))] });
    const { turns, result: there } = await turnsWhile(() => readRegistration(large));
    expect(turns).to.be.greaterThan(10);
    expect(there).to.deep.include({ kind: "json" });
  });
});
