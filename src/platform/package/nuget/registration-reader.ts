import { Limiter } from "../../limiter.ts";
import { TimedThread } from "../../timed-thread.ts";
import {
  askRegistration,
  type RegistrationAnswer,
  type RegistrationQuestion,
} from "./registration.ts";

/** What is smaller takes a few milliseconds where it is. */
const atOnceBytesMax = 32 * 1024;

const thread = new TimedThread<RegistrationQuestion, RegistrationAnswer>({
  program: "platform/package/nuget/registration-thread",
  ...{ startTimeoutMs: 60_000, timeoutMs: 30_000, mebibytesMax: 256, waitingMax: 16 },
});
/** Whoever waits here holds the document only. */
const turns = new Limiter(4);

/**
 * The same as `askRegistration`; a large document is read in a thread.
 *
 * @returns undefined when it took too long or too much memory
 */
export async function readRegistration(
  question: RegistrationQuestion,
): Promise<RegistrationAnswer | undefined> {
  if (question.bytes.length <= atOnceBytesMax) return askRegistration(question);
  return await turns.run(() => thread.ask(question));
}
