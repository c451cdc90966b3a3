import { readdir, readFile } from "node:fs/promises";
import { expect } from "chai";

import { slices } from "../../src/events/all.ts";
import { decode } from "../../src/events/core/decode.ts";
import type { AnyEvent, EventSchemas } from "../../src/events/core/event.ts";
import { history } from "../support/app/history.ts";

/**
 * Events as they were once written, one file a slice. Add to these files; never edit what is in
 * them: the log cannot be edited either.
 */
for (const [slice, schemas] of Object.entries<EventSchemas>(slices)) {
  describe(`the ${slice} events of the past`, () => {
    let stored: readonly AnyEvent[] = [];

    before(async () => {
      stored = JSON.parse(await readFile(`test/events/${slice}.json`, "utf8")) as AnyEvent[];
    });

    it("can all still be read", () => {
      for (const recorded of history(...stored.map((event) => [`${slice}-1`, event] as const))) {
        expect(decode(schemas, recorded).data).to.deep.equal(recorded.data);
      }
    });

    it("have an example of every type", () => {
      expect([...new Set(stored.map((event) => event.type))].sort()).to.deep.equal(
        Object.keys(schemas).sort(),
      );
    });

    it("stop us when malformed, and may carry fields we do not know", () => {
      for (const event of stored) {
        const [whole] = history([`${slice}-1`, event]);
        expect(() => decode(schemas, { ...whole!, data: {} }), event.type).to.throw();
        const later = { ...whole!, data: { ...whole!.data, later: 1 } };
        expect(decode(schemas, later).data).to.deep.equal(whole!.data);
      }
    });
  });
}

describe("the registry of slices", () => {
  it("holds every file of events that declares schemas", async () => {
    const declaring: string[] = [];
    for (const file of await readdir("src/events", { recursive: true })) {
      if (!file.endsWith(".ts")) continue;
      const text = await readFile(`src/events/${file}`, "utf8");
      if (/satisfies EventSchemas;/.test(text)) declaring.push(file.replace(/\.ts$/, ""));
    }
    expect(Object.keys(slices).sort()).to.deep.equal(declaring.sort());
  });

  it("gives every event type to one slice only", () => {
    const types = Object.values<EventSchemas>(slices).flatMap((schemas) => Object.keys(schemas));
    expect(new Set(types).size).to.equal(types.length);
  });
});
