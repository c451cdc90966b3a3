import { expect } from "chai";
import {
  canonicalJson,
  chainNext,
  chainStart,
  eventDigest,
} from "../../../src/events/core/canonical.ts";
import { history } from "../../support/app/history.ts";

const [first, second] = history(
  ["parcel-1", { type: "ParcelSent", data: { to: "Anna", from: { name: "Boris", age: 7 } } }],
  ["parcel-1", { type: "ParcelSent", data: { to: "Anna", from: { name: "Boris", age: 7 } } }],
);

describe("canonical JSON", () => {
  it("does not depend on the order of members", () => {
    expect(canonicalJson({ b: 1, a: [true, null, { d: "x", c: 2 }] })).to.equal(
      '{"a":[true,null,{"c":2,"d":"x"}],"b":1}',
    );
  });

  it("writes the examples of RFC 8785 as it does", () => {
    const value = { "\u20ac": "Euro", "\r": "CR", "1": "One", "\u0080": "Control", "😀": "Smile" };
    expect(canonicalJson(value)).to.equal(
      '{"\\r":"CR","1":"One","\u0080":"Control","€":"Euro","😀":"Smile"}',
    );
    expect(canonicalJson([333333333.3333333, 1e30, 4.5, 2e-3, 1e-27])).to.equal(
      "[333333333.3333333,1e+30,4.5,0.002,1e-27]",
    );
  });

  it("distinguishes names with commas from several names, whatever came before", () => {
    const one = { "b,a": 1, c: 2 };
    const other = { b: 1, "a,c": 2 };
    for (const value of [one, other, one]) {
      expect(JSON.parse(canonicalJson(value))).to.deep.equal(value);
    }
    expect(canonicalJson(other)).to.equal('{"a,c":2,"b":1}');
  });

  it("leaves out what JSON cannot say", () => {
    expect(canonicalJson({ a: undefined, b: 1 })).to.equal('{"b":1}');
  });
});

describe("the digest of an event", () => {
  it("changes with every word of it", () => {
    const changed = [
      { ...first!, data: { ...first!.data, to: "Mallory" } },
      { ...first!, id: second!.id },
      { ...first!, revision: 5n },
      { ...first!, stream: "parcel-2" },
      { ...first!, type: "ParcelLost" },
      { ...first!, metadata: { ...first!.metadata, occurredAt: "2020-01-01T00:00:00.000Z" } },
    ];
    const digests = [first!, ...changed].map((event) => eventDigest(event).toString("hex"));
    expect(new Set(digests).size).to.equal(digests.length);
  });

  it("survives a move to another store", () => {
    const moved = { ...first!, position: 77n, recordedAt: new Date(0) };
    expect(eventDigest(moved)).to.deep.equal(eventDigest(first!));
  });

  it("chains in one order only", () => {
    const [a, b] = [eventDigest(first!), eventDigest(second!)];
    const forth = chainNext(chainNext(chainStart, a), b);
    expect(chainNext(chainNext(chainStart, b), a)).not.to.deep.equal(forth);
  });
});
