import { expect } from "chai";
import { z } from "zod";

import { slices } from "../../../src/events/all.ts";
import { decode } from "../../../src/events/core/decode.ts";
import type { EventSchemas } from "../../../src/events/core/event.ts";
import {
  type Upcasters,
  upcast,
  upcasters,
  withFormerTypes,
} from "../../../src/events/core/upcast.ts";
import { history } from "../../support/app/history.ts";

/** A parcel's weight was first stored in ounces, then in whole pounds, and is in grams today. */
const known: Upcasters = {
  ParcelWeighedInOunces: {
    to: "ParcelWeighedInPounds",
    upcast: (data) => ({ pounds: Number(data["ounces"]) / 16 }),
  },
  ParcelWeighedInPounds: {
    to: "ParcelWeighed",
    upcast: (data) => ({ grams: Math.round(Number(data["pounds"]) * 453.59237) }),
  },
};
const parcelEvents = {
  ParcelWeighed: z.object({ grams: z.int() }),
} as const satisfies EventSchemas;

const [stored] = history(["parcel-1", { type: "ParcelWeighedInOunces", data: { ounces: 32 } }]);

describe("an event of a type that changed its meaning", () => {
  it("is read as what it means today, over as many steps as it takes", () => {
    const event = decode(parcelEvents, stored!, known);
    expect(event).to.deep.include({ type: "ParcelWeighed", data: { grams: 907 } });
    expect(event).to.deep.include({ id: stored!.id, position: 1n, metadata: stored!.metadata });
  });

  it("is checked after the step, not before", () => {
    const broken = { ...stored!, data: {} };
    expect(() => decode(parcelEvents, broken, known)).to.throw();
  });

  it("stops the reader when nobody says what it means", () => {
    expect(() => decode(parcelEvents, stored!, {})).to.throw("No schema for event type");
  });

  it("reaches those who handle the type of today", () => {
    expect([...withFormerTypes(["ParcelWeighed"], known)]).to.have.members([
      "ParcelWeighed",
      "ParcelWeighedInPounds",
      "ParcelWeighedInOunces",
    ]);
    expect([...withFormerTypes(["ParcelSent"], known)]).to.deep.equal(["ParcelSent"]);
  });

  it("leaves events of today as they are", () => {
    const today = { type: "ParcelWeighed", data: { grams: 1 } };
    expect(upcast(today, known)).to.equal(today);
  });
});

describe("the upcasters", () => {
  it("lead to types that there are, away from types that there are not", () => {
    const types = new Set(Object.values<EventSchemas>(slices).flatMap((each) => Object.keys(each)));
    for (const [former, { to }] of Object.entries(upcasters)) {
      expect(types.has(former), former).to.equal(false);
      expect(types.has(to) || Object.hasOwn(upcasters, to), to).to.equal(true);
    }
  });
});
