import { session } from "../../../src/commands/access/session.ts";
import type { sessionEvents } from "../../../src/events/access/session.ts";
import type { EventOf } from "../../../src/events/core/event.ts";
import { SessionId, UserId } from "../../../src/events/core/ids.ts";
import { specify } from "../../support/app/decider.ts";
import { at } from "../../support/app/history.ts";

type SessionEvent = EventOf<typeof sessionEvents>;

const given = specify(session);
const userId = UserId.parse("0b9f2d3a-6f0e-4c35-8a9e-0d1f2a3b4c5d");
const other = UserId.parse("9a8b7c6d-5e4f-4a3b-8c2d-1e0f9a8b7c6d");
const facts = {
  sessionId: SessionId.parse("5f0c1a52-7a5b-4f43-9d0e-6d8a3f6f2b11"),
  userId,
  via: "PASSWORD",
  secretHash: "ab",
  userAgent: null,
} as const;
const open = { type: "OpenSession", ...facts, at } as const;
const opened: SessionEvent = { type: "SessionOpened", data: { ...facts, openedAt: at } };
const close = (by: UserId | null) =>
  ({ type: "CloseSession", by, reason: by === null ? "IDLE" : "LOGOUT", at }) as const;
const closed = (closedById: UserId | null): SessionEvent => ({
  type: "SessionClosed",
  data: { closedById, reason: closedById === null ? "IDLE" : "LOGOUT", closedAt: at },
});

describe("a session", () => {
  it("is opened once", () => {
    given().when(open).gives(opened);
    given(opened).when(open).refuses("session.exists");
    given(opened, closed(userId)).when(open).refuses("session.exists");
  });

  it("is closed by whose it is, or by itself, and closing it again changes nothing", () => {
    given(opened).when(close(userId)).gives(closed(userId));
    given(opened).when(close(null)).gives(closed(null));
    given(opened, closed(null)).when(close(userId)).givesNothing();
  });

  it("is nothing to anybody else", () => {
    given(opened).when(close(other)).refuses("session.not_found");
    given().when(close(userId)).refuses("session.not_found");
  });
});
