import { createSocket } from "node:dgram";
import { setMaxListeners } from "node:events";
import { readFile } from "node:fs/promises";
import { Agent, createServer, request } from "node:http";
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

import { browser } from "../test/support/client/browser.ts";
import { tgz, zip } from "../test/support/git/archive.ts";
import { freePort } from "../test/support/process/free-port.ts";
import { addPipelineFile, agentOf, startPipeline } from "./agents.ts";
import { quantile, timed } from "./figure.ts";
import { drip, outsideDoors } from "./flood-outside.ts";
import { type BenchService, withService } from "./service.ts";

/**
 * What a quiet caller waits for while 20 connections of another caller flood one door of the service: p99 in
 * milliseconds, beside the same without a flood. Aim: 250 ms and less, where the quiet request itself takes less.
 *
 * Names that no server answers need one that is silent: run this as root in a mount namespace (`unshare --mount`) whose
 * /etc/resolv.conf names 127.0.0.77; without it that door is left out. Arguments are names of doors; all unless given.
 */
const connections = 20;
const floodMs = 8_000;
const quietMs = 3_000;
const pauseMs = 25;
/** More than are held of one agent. */
const pollsPerConnection = 3;
const silentServer = "127.0.0.77";

type Run = (signal: AbortSignal, connection: number) => Promise<unknown>;
type Door = Readonly<{
  name: string;
  /** What one connection sends; it is repeated at once. */
  flood: Run;
  /** What the quiet caller does; reads a project unless given. */
  quiet?: () => Promise<unknown>;
}>;

const wanted = new Set(process.argv.slice(2));

const receiverPort = await freePort();

const ports = { http: await freePort(), ldap: await freePort() };
const reached = [receiverPort, ports.http, ports.ldap].map((port) => `localhost:${port}`);

await withService(measure, {
  OUTBOUND_ALLOW: reached.join(","),
  LDAP_ALLOW: `localhost:${ports.ldap}`,
});

async function measure(bench: BenchService): Promise<void> {
  await bench.project("quiet");
  const flooder = await flooderOf(bench);
  const doors = [...requestDoors(flooder), ...(await packageDoors(flooder))];
  doors.push(...(await jobDoors(bench, flooder)), ...bodyDoors(bench, flooder), loginDoor(bench));
  const get = (path: string, signal: AbortSignal) => send(flooder, path, { signal });
  const made = (by: "admin" | "flooder", path: string, body: object) =>
    json(by === "admin" ? bench : flooder, path, body);
  doors.push(...(await outsideDoors({ bench, ports, get, made })));
  doors.push(...(await webhookDoors(bench, flooder)));
  process.stdout.write("| door | p99 without, ms | p99 beside the flood, ms |\n|---|---|---|\n");
  for (const { name, flood, quiet = () => read(bench) } of doors) {
    if (wanted.size > 0 && !wanted.has(name.split(":")[0] ?? "")) continue;
    const before = await latencies(quiet, quietMs);
    const ending = new AbortController();
    setMaxListeners(0, ending.signal);
    const all = Array.from({ length: connections }, (_, n) => repeated(flood, ending.signal, n));
    const beside = await latencies(quiet, floodMs);
    ending.abort();
    await Promise.all(all);
    const [without, during] = [before, beside].map((times) => quantile(times, 0.99).toFixed(0));
    process.stdout.write(`| ${name} | ${without} | ${during} |\n`);
  }
}

type Caller = Pick<BenchService, "service" | "authorization" | "basic">;

/** Another account, whose project is `/project/flood/own`. */
async function flooderOf(bench: BenchService): Promise<Caller> {
  const person = { alias: "flood", email: "flood@example.org", password: bench.password };
  await json(bench, "/user", person);
  const basic = `Basic ${Buffer.from(`flood:${bench.password}`).toString("base64")}`;
  const scopes = ["USER_WRITE", "PROJECT_READ", "PROJECT_WRITE", "PROJECT_EDIT"];
  const named = { name: "flood", scopes: [...scopes, "READ_REGISTRY", "WRITE_REGISTRY"] };
  const made = await json(
    { ...bench, authorization: basic },
    "/user/settings/access-token/create",
    named,
  );
  const token = String(made["token"]);
  const login = Buffer.from(`flood:${token}`).toString("base64");
  const caller = { ...bench, authorization: `token ${token}`, basic: `Basic ${login}` };
  await json(caller, "/project", { title: "Own", alias: "own" });
  return caller;
}

/** Posts what has to succeed. */
async function json(
  { service, authorization }: Pick<Caller, "service" | "authorization">,
  path: string,
  body: object,
): Promise<Readonly<Record<string, unknown>>> {
  const headers = { authorization, "content-type": "application/json" };
  const sent = { method: "POST", headers, body: JSON.stringify(body) };
  const answer = await fetch(service.url + path, sent);
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${text}`);
  return JSON.parse(text) as Readonly<Record<string, unknown>>;
}

async function latencies(run: () => Promise<unknown>, forMs: number): Promise<readonly number[]> {
  const times: number[] = [];
  const until = performance.now() + forMs;
  while (performance.now() < until) {
    times.push(await timed(run));
    await delay(pauseMs);
  }
  return times;
}

/** What the service refuses, or cuts, is a part of the flood. */
async function repeated(flood: Run, signal: AbortSignal, connection: number): Promise<void> {
  while (!signal.aborted) {
    await flood(signal, connection).catch(() => delay(10));
  }
}

type Sent = Readonly<{
  method?: string;
  body?: NonNullable<RequestInit["body"]>;
  signal?: AbortSignal;
  basic?: string;
}>;

async function send(
  { service, authorization, basic }: Caller,
  path: string,
  { method = "GET", body, signal, basic: own }: Sent = {},
): Promise<Response> {
  const isPackage = path.startsWith("/registry");
  const headers = {
    ...(own !== "" && { authorization: own ?? (isPackage ? basic : authorization) }),
    ...(typeof body === "string" && { "content-type": "application/json" }),
  };
  const answer = await fetch(service.url + path, {
    ...{ method, headers },
    ...(body !== undefined && { body }),
    ...(signal && { signal }),
  });
  await answer.arrayBuffer();
  return answer;
}

async function read(bench: BenchService): Promise<void> {
  const answer = await send(bench, "/project/bench/quiet");
  if (!answer.ok) throw new Error(`The project answered ${answer.status}.`);
}

function requestDoors(flooder: Caller): readonly Door[] {
  const dotted = `/x/${"a.".repeat(7_000)}`;
  return [
    {
      name: "2: a path of many dots",
      flood: (signal) => send(flooder, dotted, { signal, basic: "" }),
    },
  ];
}

async function packageDoors(flooder: Caller): Promise<readonly Door[]> {
  const repositories = "/project/flood/own/repositories";
  for (const packageType of ["helm", "nuget"]) {
    const settings = { type: "LOCAL", repositoryName: packageType, packageType, settings: {} };
    await json(flooder, repositories, settings);
  }
  const base = "/registry/project/flood/own/repository";
  const nested = new Uint8Array(tgz([["deep/Chart.yaml", "? ".repeat(220)]]));
  const slashes = new Uint8Array(zip([[`a${"/".repeat(40_000)}`, "x"]]));
  const nuspec = `<package><metadata><id>Dashes</id><version>1.0.0</version><dependencies>
<dependency id="B" version="1.0.0${"-".repeat(40_000)}"/></dependencies></metadata></package>`;
  const dashes = new Uint8Array(zip([["Dashes.nuspec", nuspec]]));
  const push = (bytes: Uint8Array<ArrayBuffer>, signal?: AbortSignal) => {
    const body = new FormData();
    body.append("package", new Blob([bytes]), "package.nupkg");
    return send(flooder, `${base}/nuget/api/v2/package`, {
      method: "PUT",
      body,
      ...(signal && { signal }),
    });
  };
  await push(dashes);
  return [
    {
      name: "1: a chart nested 220 levels deep",
      flood: (signal) =>
        send(flooder, `${base}/helm/api/charts`, { method: "POST", body: nested, signal }),
    },
    { name: "3: a path of 40,000 slashes", flood: (signal) => push(slashes, signal) },
    {
      name: "4: a range of 40,000 dashes",
      flood: (signal) =>
        send(flooder, `${base}/nuget/registration-semver2/dashes/index.json`, { signal }),
    },
  ];
}

async function jobDoors(bench: BenchService, flooder: Caller): Promise<readonly Door[]> {
  await addPipelineFile(bench, "quiet", "a: {script: x}");
  const agent = await agentOf(bench, "quiet");
  await startPipeline(bench, "quiet");
  const shown = await agent.poll();
  if (shown === undefined) throw new Error("There was no job.");
  const log = Buffer.from(`${"\r".repeat(65_000)}\n`.repeat(8));
  await agent.put(shown, "running");
  await agent.patch(shown, 0, log);
  await agent.put(shown, "success", log.length);
  const token = await registered(flooder);
  const person = browser(bench.service.url);
  await person.logIn({ alias: "bench", password: bench.password });
  return [
    {
      name: "5: the log of a job, of carriage returns",
      flood: () => person.open("/project/bench/quiet/job/1", { accept: "text/html" }),
    },
    {
      name: "8: held requests with invented features",
      flood: async (signal, n) => {
        const held = Array.from({ length: pollsPerConnection }, (_, each) => {
          const info = { features: { [`x${n}-${each}`]: true } };
          const body = JSON.stringify({ token, info });
          return send(flooder, "/api/v4/jobs/request", { method: "POST", body, signal });
        });
        await Promise.allSettled(held);
      },
      quiet: async () => {
        const polled = agent.poll();
        await startPipeline(bench, "quiet");
        const job = await polled;
        if (job !== undefined) await agent.put(job, "success");
      },
    },
  ];
}

/** The token of an agent of the flooder's project. */
async function registered(flooder: Caller): Promise<string> {
  const at = `${flooder.service.url}/project/flood/own/runners/registration-info`;
  const headers = { authorization: flooder.authorization };
  const shown = (await (await fetch(at, { headers })).json()) as object;
  const token = "registrationToken" in shown ? shown.registrationToken : undefined;
  return String((await json(flooder, "/api/v4/runners", { token, tag_list: "flood" }))["token"]);
}

function bodyDoors(bench: BenchService, flooder: Caller): readonly Door[] {
  const large = (n: number) => ({
    ...{ branch: "main", message: "Large [skip ci]" },
    actions: [{ action: "CREATE", path: `large-${n}.txt`, content: "x".repeat(1_100_000) }],
  });
  let count = 0;
  const quiet = async (): Promise<void> => {
    count += 1;
    const body = JSON.stringify(large(count));
    const answer = await send(bench, "/project/bench/quiet/commit", { method: "POST", body });
    if (!answer.ok) throw new Error(`The commit answered ${answer.status}.`);
  };
  return [
    {
      name: "9: large bodies at 200 bytes a second",
      flood: (signal) => slowly(flooder, signal),
      quiet,
    },
    {
      name: "9: large bodies whose clients hang up",
      flood: async (_signal, n) => {
        const body = JSON.stringify(large(1_000_000 + n));
        const signal = AbortSignal.timeout(1_500);
        await send(flooder, "/project/flood/own/commit", { method: "POST", body, signal });
      },
      quiet,
    },
  ];
}

/** A body of 2 MB that comes at 200 bytes a second. */
async function slowly({ service, authorization }: Caller, signal: AbortSignal): Promise<void> {
  const { hostname, port } = new URL(service.url);
  const socket = connect(Number(port), hostname).on("error", () => undefined);
  const end = (): void => void socket.destroy();
  signal.addEventListener("abort", end, { once: true });
  socket.write(
    `POST /project/flood/own/commit HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\n` +
      "Content-Type: application/json\r\nContent-Length: 2000000\r\n\r\n{",
  );
  while (!socket.destroyed && !signal.aborted) {
    socket.write(" ".repeat(200));
    await delay(1_000, undefined, { signal }).catch(() => undefined);
  }
  end();
}

/** The quiet caller logs in from another network than the flood. */
function loginDoor({ service, password }: BenchService): Door {
  const url = `${service.url}/user/settings/access-token/create`;
  const body = JSON.stringify({ name: "login", scopes: ["USER_READ"] });
  const agent = new Agent({ localAddress: "127.0.1.1" } as ConstructorParameters<typeof Agent>[0]);
  const logIn = (secret: string, from?: Agent): Promise<number> => {
    const authorization = `Basic ${Buffer.from(`bench:${secret}`).toString("base64")}`;
    const headers = { authorization, "content-type": "application/json" };
    return new Promise((resolve, reject) => {
      request(url, { method: "POST", headers, ...(from && { agent: from }) }, (answer) => {
        answer.resume().once("end", () => resolve(answer.statusCode ?? 0));
      })
        .once("error", reject)
        .end(body);
    });
  };
  return {
    name: "12: logins with wrong passwords",
    flood: (_signal, n) => logIn(`wrong ${n}`),
    quiet: () => logIn(password, agent),
  };
}

/** Webhooks of one owner, beside which those of another are delivered. */
async function webhookDoors(bench: BenchService, flooder: Caller): Promise<readonly Door[]> {
  let arrived = (): void => undefined;
  const receiver = createServer((received, answer) => {
    if (received.url?.startsWith("/drip") === true) return drip(answer);
    arrived();
    answer.end();
  });
  await new Promise<void>((resolve) => receiver.listen(receiverPort, "localhost", resolve));
  receiver.unref();
  const url = `http://localhost:${receiverPort}`;
  const [quiet, own] = ["/project/bench/quiet", "/project/flood/own"];
  const action = { action: "CREATE", path: "a.txt", content: "a" };
  const first = { branch: "main", message: "First [skip ci]", actions: [action] };
  await json(flooder, `${own}/commit`, first);
  const hook = (caller: Caller, project: string, to: string, kind: string) =>
    json(caller, `${project}/setting/webhook`, { url: to, events: { [kind]: true } });
  await hook(bench, quiet, `${url}/`, "BRANCH_CREATE");
  let made = 0;
  const make = (caller: Caller, project: string, kind: "branch" | "tag") => {
    made += 1;
    const body =
      kind === "branch"
        ? { newBranch: `b${made}`, originBranch: "main" }
        : { tagName: `t${made}`, branchName: "main" };
    return json(caller, `${project}/${kind}`, body);
  };
  const delivery = async (): Promise<void> => {
    const received = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    await make(bench, quiet, "branch");
    await received;
  };
  // One a second has as many deliveries as there are connections.
  const each = (kind: "branch" | "tag") => async (_signal: AbortSignal, n: number) => {
    if (n === 0) await make(flooder, own, kind);
    await delay(1_000);
  };
  for (let n = 0; n < connections; n += 1) {
    await hook(flooder, own, `${url}/drip/${n}`, "TAG_CREATE");
  }
  const dripping = { name: "7: webhooks to receivers that drip", flood: each("tag") };
  if (!(await hasSilentServer())) return [{ ...dripping, quiet: delivery }];
  for (let n = 0; n < connections; n += 1) {
    await hook(flooder, own, `http://never${n}.example/`, "BRANCH_CREATE");
  }
  const silent = { name: "7: webhooks to names that no server answers", flood: each("branch") };
  return [dripping, silent].map((door) => ({ ...door, quiet: delivery }));
}

async function hasSilentServer(): Promise<boolean> {
  const servers = await readFile("/etc/resolv.conf", "utf8").catch(() => "");
  if (!servers.includes(silentServer)) return false;
  const silent = createSocket("udp4");
  await new Promise<void>((resolve) => silent.bind(53, silentServer, resolve));
  silent.unref();
  return true;
}
