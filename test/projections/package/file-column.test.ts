import { expect } from "chai";

import { PackageType } from "../../../src/events/package/version.ts";
import { columnsOf } from "../../../src/projections/package/file-column.ts";

describe("the columns of a file of a package", () => {
  for (const type of PackageType.options) {
    it(`are made of any metadata of ${type}`, () => {
      const lone = "\ud800";
      for (const metadata of [
        ...[[], "x", null, {}],
        { type: lone, description: lone, keywords: [lone], name: lone },
        { packageTypes: [lone, "x".repeat(100_000)], fields: { title: lone } },
        { type: "x".repeat(200_000) },
      ]) {
        const file = { name: "a.bin", metadata: JSON.stringify(metadata) };
        const { traits } = columnsOf(file, { type, name: "a", version: "1.0.0" });
        expect(traits?.length ?? 0).to.be.below(20_000);
      }
    });
  }
});
