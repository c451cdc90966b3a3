import { readFile } from "node:fs/promises";
import { expect } from "chai";
import {
  type ServedEvent,
  servedSchema,
  servedTypes,
  versionOf,
  withoutTexts,
} from "../../../../src/http/api/feed/served-event.ts";
import { isSchema, type JsonSchema } from "../../../../src/http/core/json-schema.ts";

/**
 * What each version of each type has promised its clients: a line for each field, never changed or
 * removed. A type that has no entry yet gets one with its first release; a changed one a new version.
 */
const frozen = JSON.parse(
  await readFile("test/http/api/feed/served-forms.json", "utf8"),
) as Readonly<Record<string, readonly string[]>>;

/** `details.title: string` for every field that is there, `?` behind those that may be missing. */
function linesOf(schema: JsonSchema, path = ""): readonly string[] {
  const { anyOf, properties, items, additionalProperties, required } = schema;
  if (Array.isArray(anyOf)) return anyOf.filter(isSchema).flatMap((one) => linesOf(one, path));
  if (isSchema(items)) return linesOf(items, `${path}[]`);
  if (isSchema(additionalProperties)) return linesOf(additionalProperties, `${path}{}`);
  if (!isSchema(properties)) {
    const { type, format, const: only } = schema;
    return [`${path}: ${String(format ?? type ?? JSON.stringify(only) ?? "enum")}`];
  }
  const needed = new Set(Array.isArray(required) ? required : []);
  return Object.entries(properties).flatMap(([name, inner]) => {
    const at = `${path === "" ? "" : `${path}.`}${name}${needed.has(name) ? "" : "?"}`;
    return isSchema(inner) ? linesOf(inner, at) : [];
  });
}

describe("the served form of events", () => {
  for (const type of servedTypes) {
    it(`of ${type} has all that its version promises`, () => {
      const promised = frozen[`${type}@${versionOf(type)}`] ?? [];
      expect(linesOf(servedSchema(type) ?? {})).to.include.members([...promised]);
    });
  }

  it("keeps every version that was ever served", () => {
    const types = new Set(servedTypes);
    for (const name of Object.keys(frozen)) expect(types).to.include(name.replace(/@\d+$/, ""));
  });

  it("has no text or script in what others than ADMINs get, but ids and counts", () => {
    const data = {
      issueId: "1",
      message: "deleted",
      previousDetails: { title: "old" },
      choice: { mergeCommitMessage: "old", strategy: "SQUASH" },
      commits: [{ commitId: "2", title: "old" }],
      jobs: [{ jobId: "3", spec: { script: ["old"] } }],
    };
    const event = { type: "Any", data } as unknown as ServedEvent;
    expect(withoutTexts(event).data).to.deep.equal({
      issueId: "1",
      choice: { strategy: "SQUASH" },
      commits: [{ commitId: "2" }],
    });
    const counted = { ...event, data: { jobs: 3, previous: true } };
    expect(withoutTexts(counted)).to.equal(counted);
  });

  it("withholds what is sealed, secret or distinguishes people", () => {
    const all = servedTypes.flatMap((type) => linesOf(servedSchema(type) ?? {}));
    expect(all.length).to.be.greaterThan(500);
    for (const line of all) {
      expect(line).not.to.match(/(?:password|secret|hash|\wdigests?|[^t]email)\??(?:\.|:)/i);
    }
  });
});
