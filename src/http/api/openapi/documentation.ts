import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import type { Context, Middleware } from "koa";
import type { Route } from "../../core/route.ts";
import { openApiInTurns } from "./openapi.ts";

const assetFolder = path.dirname(
  createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"),
);

/** The only files of the package that are served. */
const assets: Readonly<Record<string, string>> = {
  "/docs/swagger-ui.css": "text/css; charset=utf-8",
  "/docs/swagger-ui-bundle.js": "text/javascript; charset=utf-8",
  "/docs/favicon-32x32.png": "image/png",
};

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Ledgerforge: REST interface</title>
<link rel="icon" href="/docs/favicon-32x32.png">
<link rel="stylesheet" href="/docs/swagger-ui.css">
</head>
<body>
<div id="ui"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`;

const start = `SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#ui",
  deepLinking: true,
  displayRequestDuration: true,
  docExpansion: "none",
  filter: true,
  validatorUrl: null,
});
`;

/** Scripts and styles of our own alone, and no other host: the page holds a token once one is typed. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

type File = Readonly<{ type: string; body: string | Buffer }>;

/** `/openapi.json`, and `/docs`, where it can be read and tried. */
export function documentation(routes: readonly Route[]): Middleware {
  // Made at the first request: a start should not wait for it.
  let made: Promise<string> | undefined;
  const document = () => {
    made ??= openApiInTurns(routes).then((all) => JSON.stringify(all));
    return made;
  };
  return async (ctx, next) => {
    const file =
      ctx.method === "GET" || ctx.method === "HEAD" ? await find(ctx.path, document) : undefined;
    if (file === undefined) return await next();
    serveFile(ctx, file);
  };
}

async function find(name: string, document: () => Promise<string>): Promise<File | undefined> {
  if (name === "/openapi.json")
    return { type: "application/json; charset=utf-8", body: await document() };
  if (name === "/docs" || name === "/docs/")
    return { type: "text/html; charset=utf-8", body: page };
  if (name === "/docs/start.js") return { type: "text/javascript; charset=utf-8", body: start };
  const type = Object.hasOwn(assets, name) ? assets[name] : undefined;
  if (type === undefined) return undefined;
  return { type, body: await readFile(path.join(assetFolder, path.basename(name))) };
}

function serveFile(ctx: Context, file: File): void {
  ctx.status = 200;
  ctx.body = file.body;
  ctx.set("Content-Type", file.type);
  ctx.set("Content-Security-Policy", policy);
  ctx.set("Cache-Control", "public, max-age=300");
}
