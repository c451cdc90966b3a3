import { expect } from "chai";

import {
  cachedDocument,
  documentInCache,
} from "../../../../../src/http/protocol/package/core/document.ts";
import { distributionOf } from "../../../../../src/http/protocol/package/debian/index-document.ts";

describe("documents of repositories that are kept", () => {
  const keep = (key: string) =>
    cachedDocument(
      key,
      async () => ({ key }),
      () => 0,
    );

  it("count with their keys", async () => {
    const long = "k".repeat(1024 ** 2);
    for (let at = 0; at < 70; at += 1) await keep(`${at}${long}`);
    expect(documentInCache(`0${long}`)).to.equal(undefined);
    expect(documentInCache(`69${long}`)).to.deep.equal({ key: `69${long}` });
  });

  it("are so many at most", async () => {
    for (let at = 0; at <= 20_000; at += 1) await keep(`many ${at}`);
    expect(documentInCache("many 0")).to.equal(undefined);
    expect(documentInCache("many 1")).to.deep.equal({ key: "many 1" });
  });

  it("are shared while they are sent where they are too large to be kept", async () => {
    let made = 0;
    const large = () =>
      cachedDocument(
        "large",
        async () => {
          made += 1;
          return { number: made };
        },
        () => 129 * 1024 ** 2,
      );
    const first = await large();
    expect(await large()).to.equal(first);
    expect([made, documentInCache("large")]).to.deep.equal([1, undefined]);
  });

  it("are none for a name that no distribution can have", async () => {
    const deps = {} as Parameters<typeof distributionOf>[2];
    const repository = {} as Parameters<typeof distributionOf>[0];
    for (const name of ["", "a b", "../a", "a".repeat(65)]) {
      expect(await distributionOf(repository, name, deps), name).to.equal(undefined);
    }
  });
});
