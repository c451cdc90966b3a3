import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";

import { basicAuth } from "../app/basic-auth.ts";
import { git, temporaryDirectory } from "./git.ts";

type Received = Readonly<{ method: string; url: string; headers: IncomingMessage["headers"] }>;
type Answer = (request: IncomingMessage, response: ServerResponse) => boolean;

export type GitServer = Readonly<{
  /** Of the repository of that name. */
  url: (name: string) => string;
  port: number;
  /** Makes an empty bare repository that takes pushes, and answers its directory. */
  create: (name: string) => Promise<string>;
  received: Received[];
  /** Called before git is: true when it has answered itself. */
  first: (answer: Answer) => void;
  /** From now on only who sends these is let in. */
  require: (username: string, token: string) => void;
  reset: () => void;
}>;

/** Another git server: git's own `http-backend` behind node:http, until the calling file ends. */
export async function startGitServer(): Promise<GitServer> {
  const root = await temporaryDirectory();
  const received: Received[] = [];
  let needed: string | undefined;
  let first: Answer = () => false;
  const server = createServer((request, response) => {
    const { method = "", url = "", headers } = request;
    received.push({ method, url, headers });
    if (first(request, response)) return;
    if (needed !== undefined && headers.authorization !== needed) {
      response.writeHead(401, { "www-authenticate": 'Basic realm="other"' }).end();
      return;
    }
    backend(root, request, response);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: (name) => `http://127.0.0.1:${port}/${name}.git`,
    port,
    async create(name) {
      const directory = path.join(root, `${name}.git`);
      await git(root, "init", "--quiet", "--bare", "--initial-branch=main", directory);
      await git(directory, "config", "http.receivepack", "true");
      return directory;
    },
    received,
    first: (answer) => {
      first = answer;
    },
    require: (username, token) => {
      needed = basicAuth(username, token);
    },
    reset: () => {
      received.length = 0;
      needed = undefined;
      first = () => false;
    },
  };
}

/** CGI as git-http-backend(1) speaks it. */
function backend(root: string, request: IncomingMessage, response: ServerResponse): void {
  const url = new URL(request.url ?? "/", "http://git");
  const child = spawn("git", ["http-backend"], {
    env: {
      PATH: process.env["PATH"] ?? "",
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: "1",
      REQUEST_METHOD: request.method ?? "",
      PATH_INFO: decodeURIComponent(url.pathname),
      QUERY_STRING: url.search.slice(1),
      CONTENT_TYPE: request.headers["content-type"] ?? "",
      HTTP_CONTENT_ENCODING: request.headers["content-encoding"] ?? "",
      GIT_PROTOCOL: String(request.headers["git-protocol"] ?? ""),
      REMOTE_USER: "other",
    },
  });
  request.pipe(child.stdin).on("error", () => undefined);
  let head = Buffer.alloc(0);
  child.stdout.on("data", (chunk: Buffer) => {
    if (response.headersSent) return void response.write(chunk);
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf("\r\n\r\n");
    if (end < 0) return;
    const lines = head.subarray(0, end).toString().split("\r\n");
    const headers = lines.map((line) => line.split(/: */, 2) as [string, string]);
    const status = headers.find(([name]) => name === "Status")?.[1];
    const rest = headers.filter(([name]) => name !== "Status");
    response.writeHead(Number.parseInt(status ?? "200", 10), Object.fromEntries(rest));
    response.write(head.subarray(end + 4));
  });
  child.stdout.on("end", () => response.end());
}
