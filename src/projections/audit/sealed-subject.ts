import type { Recorded } from "../../events/core/event.ts";
import { partsOfSealed, Sealed } from "../../events/core/sealed.ts";
import { idInStream } from "../../events/core/stream.ts";
import { projectSubject } from "../../events/project/project.ts";
import { invitationSubject } from "../../events/user/invitation.ts";
import { userSubject } from "../../events/user/user.ts";

/** Whose keys open what a log says: those that it seals for, and those of them that it forgets. */
export class SealedSubjects {
  /** With the shortest text of each. */
  readonly #texts = new Map<string, Sealed>();
  readonly #forgotten = new Set<string>();

  add(event: Recorded): void {
    for (const text of sealedTextsOf(event)) {
      const { subject } = partsOfSealed(text);
      const known = this.#texts.get(subject);
      if (known === undefined || text.length < known.length) this.#texts.set(subject, text);
    }
    const forgotten = forgottenBy(event);
    if (forgotten !== undefined) this.#forgotten.add(forgotten);
  }

  get sealed(): ReadonlySet<string> {
    return new Set(this.#texts.keys());
  }

  /** Whether the log still expects the subject to have a key. */
  isKept(subject: string): boolean {
    return this.#texts.has(subject) && !this.#forgotten.has(subject);
  }

  /** A text that the key of the subject opens; undefined where the log expects no key. */
  textFor(subject: string): Sealed | undefined {
    return this.isKept(subject) ? this.#texts.get(subject) : undefined;
  }
}

/** All that an event has sealed, its envelope included. */
export function* sealedTextsOf({ data, metadata }: Recorded): Generator<Sealed> {
  yield* sealedIn(data);
  yield* sealedIn(metadata);
}

function* sealedIn(value: unknown): Generator<Sealed> {
  if (typeof value === "string") {
    const { success, data } = Sealed.safeParse(value);
    if (success) yield data;
  } else if (value !== null && typeof value === "object") {
    for (const part of Object.values(value)) yield* sealedIn(part);
  }
}

function forgottenBy({ type, stream, data }: Recorded): string | undefined {
  switch (type) {
    case "UserForgotten":
      return userSubject(idInStream(stream));
    case "ProjectPurged":
      return projectSubject(String(data["projectId"]));
    case "InvitationAccepted":
    case "InvitationRevoked":
      return invitationSubject(String(data["invitationId"]));
    default:
      return undefined;
  }
}
