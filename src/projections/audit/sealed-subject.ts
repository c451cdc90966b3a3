import type { Recorded } from "../../events/core/event.ts";
import { partsOfSealed, Sealed } from "../../events/core/sealed.ts";
import { idInStream } from "../../events/core/stream.ts";
import { projectSubject } from "../../events/project/project.ts";
import { invitationSubject } from "../../events/user/invitation.ts";
import { userSubject } from "../../events/user/user.ts";

/** Whose keys open what a log says: those that it seals for, and those of them that it forgets. */
export class SealedSubjects {
  readonly sealed = new Set<string>();
  readonly #forgotten = new Set<string>();

  add(event: Recorded): void {
    this.#find(event.data);
    this.#find(event.metadata);
    const forgotten = forgottenBy(event);
    if (forgotten !== undefined) this.#forgotten.add(forgotten);
  }

  /** Whether the log still expects the subject to have a key. */
  isKept(subject: string): boolean {
    return this.sealed.has(subject) && !this.#forgotten.has(subject);
  }

  #find(value: unknown): void {
    if (typeof value === "string") {
      const { success, data } = Sealed.safeParse(value);
      if (success) this.sealed.add(partsOfSealed(data).subject);
    } else if (value !== null && typeof value === "object") {
      for (const part of Object.values(value)) this.#find(part);
    }
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
