import { openApiFile } from "../http/api/openapi/openapi.ts";
import { routes } from "../http/routes.ts";

/** `npm run openapi` puts it into docs/openapi.json. */
export async function run(): Promise<number> {
  // The process ends right after: what a pipe has not taken by then would be lost.
  await new Promise<void>((resolve) => {
    process.stdout.write(openApiFile(routes), () => resolve());
  });
  return 0;
}
