import { openApi } from "../http/api/openapi/openapi.ts";
import { routes } from "../http/routes.ts";
import { writeLines } from "./lines.ts";

/** Prints the OpenAPI document of this release. */
export async function run(): Promise<number> {
  await writeLines([JSON.stringify(openApi(routes), null, 2)]);
  return 0;
}
