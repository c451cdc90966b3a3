import { openApiFile } from "../http/api/openapi/openapi.ts";
import { routes } from "../http/routes.ts";
import { writeLines } from "./lines.ts";

/** Prints the OpenAPI document of this release. */
export async function run(): Promise<number> {
  await writeLines(oneText(openApiFile(routes).trimEnd()));
  return 0;
}

async function* oneText(text: string): AsyncIterable<string> {
  yield text;
}
