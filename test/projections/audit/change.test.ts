import { readFile } from "node:fs/promises";
import { expect } from "chai";

import { slices } from "../../../src/events/all.ts";
import type { AnyEvent, EventSchemas } from "../../../src/events/core/event.ts";
import { settingsDefaults } from "../../../src/events/instance/settings.ts";
import {
  type Change,
  changesOf,
  isChanging,
  marks,
  StreamData,
} from "../../../src/projections/audit/change.ts";
import { expectLinear } from "../../support/app/growth.ts";

/**
 * The last words of event types that change no existing value: something begins, ends, or is reported. The name
 * of a new type ends in one of these, or the event shows the previous value.
 */
const beginningsAndEnds = new Set(
  (
    "Abandoned Accepted Added Applied Approved Asked Assigned Back Banned Begun Blocked " +
    "Canceled Cleared Closed Commit Confirmed Counted Created Declined Delayed Deleted " +
    "Deprecated Disabled Enabled Expired Failed Filed Finished Followed Forgotten Found " +
    "Held Inherited Issued Linked Locked Made Merged Off Offered Opened Planned Played " +
    "Prepared Purged Queued Ran Recovered Redeemed Refreshed Registered Released Removed " +
    "Reopened Replied Reported Requested Reserved Reset Resolved Restarted Restored " +
    "Resumed Returned Revoked Scheduled Sent Skipped Started Stopped Stored " +
    "Over Succeeded Triggered Unbanned Unfollowed Unlocked Unresolved Unyanked Uploaded Used " +
    "Withdrawn Yanked"
  ).split(" "),
);
/** Of these the type itself says what was and what is. */
const switches = new Set([
  "MergeRequestAutoMergeSet",
  "MergeRequestMergedByPush",
  "ContainerTagSet",
  "PackageTagSet",
  "WebhookSwitchedOff",
  "WebhookSwitchedOn",
]);

const lastWord = (type: string): string => type.replace(/^.*(?=[A-Z])/, "");

describe("every event type", () => {
  const types = Object.values<EventSchemas>(slices).flatMap((schemas) => Object.keys(schemas));

  for (const type of types) {
    it(`${type} is known to change something, or not to`, () => {
      const known = beginningsAndEnds.has(lastWord(type)) || switches.has(type);
      expect(known, "neither or both").to.not.equal(isChanging(type));
    });
  }
});

describe("every event that changes something", () => {
  for (const [slice, schemas] of Object.entries<EventSchemas>(slices)) {
    for (const type of Object.keys(schemas).filter(isChanging)) {
      it(`${type} shows what was and what is`, async () => {
        const text = await readFile(`test/events/${slice}.json`, "utf8");
        const examples = JSON.parse(text) as AnyEvent[];
        const said = new StreamData();
        let seen = 0;
        for (const event of examples) {
          const changes = changesOf(event.type, event.data, said.before(event));
          said.add(event);
          if (event.type !== type) continue;
          seen += 1;
          expectBothValues(changes);
          expectNoSecrets(changes);
        }
        expect(seen, "an example").to.be.greaterThan(0);
      });
    }
  }
});

/** Whatever is no name of a thing has both; something has changed. */
function expectBothValues(changes: readonly Change[]): void {
  const withBefore = changes.filter(({ before }) => before !== undefined);
  expect(withBefore, "a change with an old value").to.not.deep.equal([]);
  for (const { field, before, after } of withBefore) {
    expect(after, field).to.not.equal(undefined);
    if (!isMark(before)) expect(before, field).to.not.deep.equal(after);
  }
  for (const { field, before } of changes) {
    if (before === undefined)
      expect(field).to.match(/(?:Id|Type)$|^(?:branch|forced|lightWeight|notes|tag)$/);
  }
}

function expectNoSecrets(changes: readonly Change[]): void {
  expect(JSON.stringify(changes)).to.not.include("sealed.");
  for (const { field, after } of changes) {
    if (/Digests?$|Hash$/.test(field)) expect([after].flat()).to.satisfy(hidden);
  }
}

describe("what changed", () => {
  it("is listed field by field, without those that stayed the same", () => {
    const rule = { kind: "TAG", template: "v*", allowToCreate: "ADMINS" };
    const data = { ruleId: "r", rule, previous: { ...rule, allowToCreate: "DEVELOPER" } };
    expect(changesOf("ProtectionRuleEdited", data, {})).to.deep.equal([
      { field: "ruleId", after: "r" },
      { field: "allowToCreate", before: "DEVELOPER", after: "ADMINS" },
    ]);
    const quota = { allowedBytes: 5, previous: null, changedById: "x", changedAt: "now" };
    expect(changesOf("ProjectQuotaChanged", quota, {})).to.deep.equal([
      { field: "allowedBytes", before: null, after: 5 },
    ]);
  });

  it("is computed for settings from their defaults, and from every change before", () => {
    const change = (changes: object): AnyEvent => ({ type: "SettingsChanged", data: { changes } });
    const { userApiCountLimit } = settingsDefaults;
    const first = change({ sshPort: 2222, userApiCountLimit: 5 });
    const second = change({ sshPort: 22 });
    expect(changesOf(first.type, first.data, {})).to.deep.equal([
      { field: "sshPort", before: 22, after: 2222 },
      { field: "userApiCountLimit", before: userApiCountLimit, after: 5 },
    ]);
    const third = change({ userApiCountLimit: 7, sshPort: 23 });
    expect(changesAfter([first, second], third)).to.deep.equal([
      { field: "userApiCountLimit", before: 5, after: 7 },
      { field: "sshPort", before: 22, after: 23 },
    ]);
  });

  it("is listed for a thing without previous values", () => {
    const name = "sealed.user-1.AAAA";
    expect(changesOf("UserProfileChanged", { name, surname: null }, {})).to.deep.equal([
      { field: "name", before: null, after: marks.personal },
    ]);
  });

  it("is computed for one of several things in a stream from the events of that one", () => {
    const stored = (fileId: string, bytes: number) => ({
      type: "PackageFileStored",
      data: { fileId, bytes },
    });
    const replaced = { type: "PackageFileReplaced", data: { fileId: "a", bytes: 3 } };
    expect(changesAfter([stored("a", 1), stored("b", 2)], replaced)).to.deep.equal([
      { field: "fileId", after: "a" },
      { field: "bytes", before: 1, after: 3 },
    ]);
  });

  it("takes time that grows with the number of things in a stream, no faster", async () => {
    const streamOf = (count: number): AnyEvent[] =>
      Array.from({ length: count }, (_, id) => ({
        type: "PipelineVariableCreated",
        data: { variableId: String(id), settings: { key: "KEY" } },
      }));
    await expectLinear(500, streamOf, (events) =>
      changesAfter(events, { type: "PipelineVariableChanged", data: { variableId: "0" } }),
    );
  });

  it("is what was there, when a thing ends", () => {
    const data = { parentId: "p", userId: "u", role: "ADMIN", removedById: "x", removedAt: "now" };
    expect(changesOf("MemberRemoved", data, {})).to.deep.equal([
      { field: "parentId", after: "p" },
      { field: "userId", after: "u" },
      { field: "role", before: "ADMIN" },
    ]);
  });

  it("is hidden where it distinguishes people, and still said to have changed", () => {
    const data = { emailDigest: "b", previousEmailDigest: "a" };
    expect(changesOf("UserEmailChanged", data, {})).to.deep.equal([
      { field: "emailDigest", before: marks.digest, after: marks.digest },
    ]);
  });

  it("knows a confirmed e-mail from one that was not", () => {
    const said = [
      { type: "UserRegistered", data: { confirmed: false } },
      { type: "UserEmailConfirmed", data: {} },
    ];
    const changed = { type: "UserEmailChanged", data: { confirmed: false } };
    expect(changesAfter(said, changed)).to.deep.equal([
      { field: "confirmed", before: true, after: false },
    ]);
  });
});

/** What an event changed after others of its stream. */
function changesAfter(before: readonly AnyEvent[], event: AnyEvent): readonly Change[] {
  const said = new StreamData();
  for (const one of before) said.add(one);
  return changesOf(event.type, event.data, said.before(event));
}

const isMark = (value: unknown): boolean => Object.values<unknown>(marks).includes(value);
const hidden = (values: readonly unknown[]): boolean =>
  values.every((value) => value === marks.digest || value === marks.secret);
