import { type StoredEvent, tombstoneRevision } from "../../../src/embedded/event-store/event.ts";

/** An event as the embedded event store holds it. */
export const storedEvent: StoredEvent = {
  id: "2f0c9a4e-7b7c-4f0a-9d3e-5a1b2c3d4e5f",
  type: "IssueEdited",
  isJson: true,
  data: Buffer.from('{"title":"Ж"}'),
  metadata: Buffer.from('{"from":"🙂"}'),
  position: 7n,
  stream: "issue-1",
  revision: 0n,
  created: 17_000_000_000_000_000n,
};

/** By name, the fields in which an event differs from it whose bytes are at a limit of their encoding. */
export const storedEventCases: Readonly<Record<string, Partial<StoredEvent>>> = {
  "an ordinary one": {},
  "numbers of each length": { position: 300n, revision: 2n ** 32n + 5n },
  "numbers of 49 and 50 bits": { position: 2n ** 49n - 1n, revision: 2n ** 49n },
  "the largest numbers": { position: 2n ** 62n + 129n, revision: tombstoneRevision },
  "the first revision at the start of the log": { position: 0n, revision: 0n },
  "an id of ones": { id: "ffffffff-ffff-ffff-ffff-ffffffffffff" },
  "an id of zeros": { id: "00000000-0000-0000-0000-000000000000" },
  "an id with one half of zeros": { id: "00000000-0000-0000-8000-000000000001" },
  "a time just before a millisecond": { created: 17_000_000_000_009_999n },
  "a time that no double holds": { created: 17_000_000_000_019_999n },
  "the earliest time": { created: 0n },
  "bytes that are no JSON": { isJson: false, data: Buffer.from([0, 255]) },
  "JSON that is none": { data: Buffer.from("{"), metadata: Buffer.from("{") },
  "null as JSON": { data: Buffer.from("null"), metadata: Buffer.from("null") },
  "no data and no metadata": { isJson: false, data: new Uint8Array(), metadata: new Uint8Array() },
  "long and foreign names": { stream: `поток-${"x🙂".repeat(250)}`, type: "Тип".repeat(50) },
  "data of 127, 128 and more bytes": { data: Buffer.alloc(127), metadata: Buffer.alloc(128) },
  "data of a megabyte": {
    data: Buffer.from(JSON.stringify("x".repeat(1_048_576))),
    metadata: Buffer.from(JSON.stringify("y".repeat(20_000))),
  },
};
