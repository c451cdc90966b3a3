import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { type Service, startService } from "../test/support/app/service.ts";
import { newKey, sshOptions } from "../test/support/client/ssh.ts";
import { freePort } from "../test/support/process/free-port.ts";

const alias = "bench";
const email = "bench@example.org";
const password = "a password for benchmarks";

export type BenchService = Readonly<{
  service: Service;
  directory: string;
  authorization: string;
  /** The person that it represents. */
  email: string;
  password: string;
  /** File of the private half of the SSH key they have registered. */
  key: string;
  /** The same as git and git-lfs send it. */
  basic: string;
  /** Makes a project and answers the address git is given. */
  project: (name: string) => Promise<string>;
  /** Address of such a project over SSH, and what git's environment needs for it. */
  ssh: Readonly<{ remote: (name: string) => string; environment: Record<string, string> }>;
}>;

/** Runs the benchmark against the whole service, as `npm start` brings it up, on a new directory. */
export async function withService(
  run: (bench: BenchService) => Promise<void>,
  environment: Record<string, string> = {},
): Promise<void> {
  const sshPort = await freePort();
  const directory = await mkdtemp(path.join(tmpdir(), "ledgerforge-bench-"));
  const service = await startService(path.join(directory, "data"), {
    ADMIN_ALIAS: alias,
    ADMIN_EMAIL: email,
    ADMIN_PASSWORD: password,
    LOG_LEVEL: "warn",
    SSH_PORT: String(sshPort),
    ...environment,
  });
  try {
    const token = await createToken(service.url);
    const authorization = `token ${token}`;
    const remote = service.url.replace("//", `//${alias}:${token}@`);
    const project = async (name: string): Promise<string> => {
      await post(`${service.url}/project`, authorization, { title: name, alias: name });
      return `${remote}/project/${alias}/${name}.git`;
    };
    const key = await newKey(directory, "key");
    await post(`${service.url}/user/settings/add-ssh-key`, authorization, {
      publicKey: await readFile(`${key}.pub`, "utf8"),
      title: "bench",
    });
    const ssh = {
      remote: (name: string) => `git@127.0.0.1:${alias}/${name}.git`,
      environment: { GIT_SSH_COMMAND: ["ssh", ...sshOptions(key, sshPort)].join(" ") },
    };
    const basic = `Basic ${Buffer.from(`${alias}:${token}`).toString("base64")}`;
    await run({ service, directory, authorization, basic, email, password, key, project, ssh });
  } finally {
    await service.stop();
    await rm(directory, { recursive: true, force: true });
  }
}

async function createToken(url: string): Promise<string> {
  const basic = `Basic ${Buffer.from(`${alias}:${password}`).toString("base64")}`;
  const body = {
    name: "bench",
    scopes: [
      ...["USER_WRITE", "PROJECT_READ", "PROJECT_WRITE", "PROJECT_EDIT"],
      ...["READ_REGISTRY", "WRITE_REGISTRY"],
    ],
  };
  const { token } = await post(`${url}/user/settings/access-token/create`, basic, body);
  return String(token);
}

async function post(
  url: string,
  authorization: string,
  body: unknown,
): Promise<Readonly<Record<string, unknown>>> {
  const headers = { authorization, "content-type": "application/json" };
  const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}: ${await answer.text()}`);
  return (await answer.json()) as Readonly<Record<string, unknown>>;
}
