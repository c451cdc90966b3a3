import { documentReader } from "../../document-reader.ts";
import {
  askRegistration,
  type RegistrationAnswer,
  type RegistrationQuestion,
} from "./registration.ts";

/** The same as `askRegistration`, large documents in a thread; see documentReader. */
export const readRegistration = documentReader<RegistrationQuestion, RegistrationAnswer>({
  ask: askRegistration,
  program: "platform/package/nuget/registration-thread",
  atOnceBytesMax: 32 * 1024,
  timeoutMs: 30_000,
  mebibytesMax: 256,
});
