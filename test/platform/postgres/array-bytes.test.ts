import { expect } from "chai";

import { arrayBytes, type ElementType } from "../../../src/platform/postgres/array-bytes.ts";
import { testDatabase } from "../../support/store/database.ts";

const { db } = await testDatabase();

const values: Readonly<Record<ElementType, readonly unknown[]>> = {
  bigint: [0n, -1n, 2n ** 63n - 1n, -(2n ** 63n), 7],
  boolean: [true, false],
  bytea: [Buffer.from([0, 92, 34, 255]), Buffer.alloc(0), new Uint8Array([1])],
  smallint: [0, -32_768, 32_767],
  text: ["", "NULL", 'a"b\\c', "{,}", "Ж🙂", "x".repeat(10_000), "half \ud800"],
  timestamptz: [
    new Date("2026-01-02T03:04:05.678Z"),
    new Date("1999-12-31T23:59:59.999Z"),
    new Date("0100-01-01T00:00:00Z"),
    new Date("9999-12-31T23:59:59.999Z"),
  ],
  uuid: ["2f0c9a4e-7b7c-4f0a-9d3e-5a1b2c3d4e5f", "2F0C9A4E7B7C4F0A9D3E5A1B2C3D4E5F"],
};

describe("an array in PostgreSQL's binary format", () => {
  for (const [type, given] of Object.entries(values) as [ElementType, readonly unknown[]][]) {
    it(`holds what pg writes as text of ${type}`, async () => {
      const wrote = [null, ...given, null];
      const { rows } = await db.raw(
        `select ?::${type}[] = ?::${type}[] as same, cardinality(?::${type}[]) as count`,
        [arrayBytes(type, wrote), wrote as never, arrayBytes(type, wrote)],
      );
      expect(rows).to.deep.equal([{ same: true, count: wrote.length }]);
    });

    it(`may have no ${type}`, async () => {
      const { rows } = await db.raw(`select ?::${type}[] = '{}' as same`, [arrayBytes(type, [])]);
      expect(rows).to.deep.equal([{ same: true }]);
    });
  }

  it("is not made of what is no value of its type", () => {
    const none: readonly (readonly [ElementType, unknown])[] = [
      ["uuid", "2f0c9a4e-7b7c-4f0a-9d3e-5a1b2c3d4e5"],
      ["uuid", "2f0c9a4e-7b7c-4f0a-9d3e-5a1b2c3d4e5f0"],
      ["uuid", "2f0c9a4e-7b7c-4f0a-9d3e-5a1b2c3d4e5g"],
      ["uuid", "Ж".repeat(32)],
      ["timestamptz", new Date(Number.NaN)],
      ["bigint", 2n ** 63n],
      ["bigint", "x"],
      ["smallint", 32_768],
      ["smallint", Number.NaN] as const,
      ["smallint", 1.5] as const,
      ["boolean", "t"] as const,
      ["bytea", "abc"] as const,
      ...(Object.keys(values) as ElementType[]).map((type) => [type, undefined] as const),
    ];
    for (const [type, value] of none) {
      expect(() => arrayBytes(type, [value]), `${type} ${value}`).to.throw();
    }
    const never = new Date(Number.NaN);
    expect(() => arrayBytes("timestamptz", [never])).to.throw("The time is none");
  });
});
