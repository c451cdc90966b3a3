import { readFileSync, renameSync, writeFileSync } from "node:fs";

/** File that keeps the OpenAPI document for all processes of a run. */
export const documentVariable = "TEST_OPENAPI_FILE";

/** The document of this run: making it takes a second of a processor, reading it a fiftieth. */
export function keptDocument(make: () => unknown): unknown {
  const { [documentVariable]: file } = process.env;
  if (file === undefined) return make();
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    const text = JSON.stringify(make());
    // Other processes read all of it or nothing.
    const draft = `${file}.${process.pid}`;
    writeFileSync(draft, text);
    renameSync(draft, file);
    return JSON.parse(text);
  }
}
