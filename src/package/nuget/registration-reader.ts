import { documentReader } from "../../platform/parser/document-reader.ts";
import {
  askRegistration,
  type RegistrationAnswer,
  type RegistrationQuestion,
} from "./registration.ts";

/** The same as `askRegistration`, large documents in a process; see documentReader. */
export const readRegistration = documentReader<RegistrationQuestion, RegistrationAnswer>({
  ask: askRegistration,
  module: "package/nuget/registration-task",
  atOnceBytesMax: 32 * 1024,
  timeoutMs: 30_000,
  mebibytesMax: 256,
});
