import { randomUUID } from "node:crypto";
import { expect } from "chai";

import { issueProjection } from "../../../src/projections/issue/issue.ts";
import { folded, partPattern } from "../../../src/projections/list/folded.ts";
import { projectProjection } from "../../../src/projections/project/project.ts";
import { userProjection } from "../../../src/projections/user/user.ts";
import { reset } from "../../support/app/projection.ts";
import { testDatabase } from "../../support/store/database.ts";

const { db } = await testDatabase();

describe("the form in which texts are searched", () => {
  // Young letters and marks are left out, which the one may know before the other.
  const letters = Array.from({ length: 0xa7c0 }, (_, code) => String.fromCodePoint(code))
    .filter((letter) => !/[\u1acf-\u1aff]/.test(letter))
    .filter((letter) => /[\p{L}\p{M}\p{N}]/u.test(letter));

  it("is the same in PostgreSQL and in the service", async () => {
    const combined = letters.flatMap((letter) => [`a\u0301${letter}`, `${letter}\u0301Σ`]);
    const texts = [
      ...letters,
      ...combined,
      "Ａ\u{10400}",
      "",
      "Abc_%\\",
      "ΟΔΟΣ ὀδός",
      "I\u0307 ı İI",
      "\u0041\u030a \uac00\u11a8",
    ];
    const { rows } = await db.raw<{ rows: { text: string; form: string }[] }>(
      "select text, public.folded(text) as form from unnest(?::text[]) as text",
      [texts],
    );
    const differing = rows.filter(({ text, form }) => folded(text) !== form);
    expect(differing).to.deep.equal([]);
    expect(rows).to.have.length(texts.length);
  });

  it("is alike for letters that differ in case alone, by simple folding", () => {
    const wrong = letters.filter((letter) => {
      const others = [letter.toUpperCase(), letter.toLowerCase()];
      const isSame = new RegExp(`^${letter}$`, "iu");
      return others.some((one) => isSame.test(one) && folded(one) !== folded(letter));
    });
    expect(wrong).to.deep.equal([]);
  });

  for (const [one, other] of [
    ["ὈΔΌΣ", "ὀδός"],
    ["ΟΔΟΣ", "οδοσ"],
    ["CAFÉ", "cafe\u0301"],
    ["İstanbul", "istanbul"],
    ["ISTANBUL", "istanbul"],
    ["STRAẞE", "straße"],
  ] as const) {
    it(`is the same of ${one} and ${other}`, () => expect(folded(one)).to.equal(folded(other)));
  }

  it("keeps the dotless i and the sharp s apart from others", () => {
    expect(folded("ı")).not.to.equal(folded("I"));
    expect(folded("ß")).not.to.equal(folded("ss"));
  });

  it("is what the indexes of issues, projects and users hold", async () => {
    for (const model of [issueProjection, projectProjection, userProjection]) {
      await reset(db, model);
    }
    const plans = await db.transaction(async (tx) => {
      await tx.raw("set local enable_seqscan = off");
      const planOf = async (table: string, column: string) => {
        const { rows } = await tx.raw<{ rows: object[] }>(
          `explain select 1 from ${table} where public.folded(${column}) like ?`,
          [partPattern(randomUUID())],
        );
        return JSON.stringify(rows);
      };
      return Promise.all([
        planOf("issue", "title"),
        planOf("issue", "description"),
        planOf("project", "title"),
        planOf("app_user", "email"),
      ]);
    });
    for (const plan of plans) expect(plan).to.contain("Bitmap Index Scan on");
  });
});
