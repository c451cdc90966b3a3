import { documentReader } from "../../platform/parser/document-reader.ts";
import {
  parseRegistration,
  type RegistrationAnswer,
  type RegistrationQuestion,
} from "./registration.ts";

/** The same as `parseRegistration`, large documents in a process; see documentReader. */
export const readRegistration = documentReader<RegistrationQuestion, RegistrationAnswer>({
  parse: parseRegistration,
  module: "package/nuget/registration-task",
  atOnceBytesMax: 32 * 1024,
  timeoutMs: 30_000,
  mebibytesMax: 256,
});
