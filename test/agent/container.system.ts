import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { userInfo } from "node:os";
import path from "node:path";
import { expect } from "chai";

import { containers } from "../../src/agent/container.ts";
import { openEngine } from "../../src/agent/container-engine.ts";
import { openExecutor } from "../../src/agent/executor.ts";
import { type ImageName, testEngine } from "../support/agent/container-engine.ts";
import { givenJobs } from "../support/app/carried-job.ts";
import { eventually } from "../support/app/eventually.ts";

const engine = await testEngine();
const success = { state: "success" } as const;

async function given() {
  const jobs = await givenJobs();
  const executor = await openExecutor("docker", {
    ...{ readable: [], hidden: [] },
    pullPolicies: ["if-not-present", "never"],
  });
  const named = (name: ImageName, more: Readonly<Record<string, unknown>> = {}) => ({
    name: engine?.image(name),
    ...more,
  });
  type More = Parameters<typeof jobs.run>[0] & Readonly<{ image?: unknown; services?: unknown }>;
  const run = ({ image = named("plain"), services, variables, ...more }: More = {}) =>
    jobs.run({
      ...{ executor, ...more, fields: { image, services, ...more.fields } },
      variables: { GIT_STRATEGY: "none", ...variables },
    });
  return { ...jobs, executor, run, named };
}

/** Containers and networks of agents. */
async function left(): Promise<string> {
  const filter = ["--quiet", "--filter", `label=ledgerforge.agent=carried-${process.pid}`];
  const found = [
    await engine?.call("ps", "--all", ...filter),
    await engine?.call("network", "ls", ...filter),
  ];
  return found.join("");
}

/** Arguments of processes of this machine that have the text, seen at any time until the end. */
async function argumentsWith(text: string, end: AbortSignal): Promise<readonly string[]> {
  const seen = new Set<string>();
  while (!end.aborted) {
    const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
    for (const pid of pids) {
      const command = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
      if (command.includes(text)) seen.add(command.replaceAll("\0", " "));
    }
  }
  return [...seen];
}

async function addressesOfJobs(): Promise<readonly string[]> {
  const filter = ["--filter", `label=ledgerforge.agent=carried-${process.pid}`];
  const running = (await engine?.call("ps", "--quiet", ...filter)) ?? "";
  const format = "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}";
  const found = await engine?.call("inspect", "--format", format, ...running.split("\n"));
  return found?.split("\n") ?? [];
}

describe("a job in a container", () => {
  it("keeps what its script changed for its after_script, and nothing afterwards", async () => {
    const { run } = await given();
    const { end, said } = await run({
      script: ["echo kept > /tmp/kept", "id -u", "echo $HOME"],
      afterScript: ["cat /tmp/kept"],
    });
    expect(end, said).to.deep.equal(success);
    expect(said).to.match(/^0\n.*^\/root\n.*^kept\n/ms);
    expect(await left()).to.equal("");
  });

  it("runs as the user of the image, who writes where the agent did", async () => {
    const { run, named } = await given();
    const none = { key: "GIT_STRATEGY", value: "none" };
    const fields = { variables: [none, { key: "CONF", value: "text", file: true }] };
    // Else git of the image refuses the repository, which belongs to the user of the agent.
    const git = "echo $GIT_CONFIG_KEY_0=$GIT_CONFIG_VALUE_0";
    const script = ["id -u", "cat $CONF", "touch here", "echo x >> $CONF", git];
    const { end, said } = await run({ image: named("nobody"), fields, script });
    expect(end, said).to.deep.equal(success);
    expect(said).to.match(/^1234\n.*^text.*^safe.directory=\*$/ms);
    const other = { executor_opts: { docker: { user: "0" } } };
    expect((await run({ image: named("nobody", other), script: ["id -u"] })).said).to.match(/^0$/m);
  });

  it("fails with the exit code of its script, whichever it is", async () => {
    const { run } = await given();
    for (const exitCode of [3, 125, 127]) {
      const { end } = await run({ script: [`(exit ${exitCode})`, "echo not reached"] });
      expect(end).to.deep.equal({ state: "failed", reason: "script_failure", exitCode });
    }
  });

  it("may remove all that it was given, and has no artifacts then", async () => {
    const { run } = await given();
    const [paths, untracked] = [["out"], true];
    const { end, said } = await run({
      script: ["rm -rf /builds/*", "ls -A /builds"],
      fields: { artifacts: [{ paths }, { untracked }], cache: [{ key: "one", paths, untracked }] },
    });
    expect(end, said).to.deep.equal(success);
    expect(said).to.contain("Nothing to cache for one").and.contain("WARNING: out: no file fits");
    expect(said).to.contain("WARNING: untracked: no file fits");
  });

  it("does not succeed by an entrypoint that runs no script", async () => {
    const { run, named } = await given();
    const deaf = await run({ image: named("deaf"), script: ["echo ran"] });
    expect(deaf.end, deaf.said).to.include({ state: "failed", reason: "script_failure" });
    expect(deaf.said).to.contain('entrypoint: [""]');
    for (const entrypoint of [[""], ["/bin/env", "ADDED=1"]]) {
      const image = named("deaf", { entrypoint });
      const { end, said } = await run({ image, script: ["echo ran $ADDED"] });
      expect(end, said).to.deep.equal(success);
      expect(said).to.match(entrypoint[1] === undefined ? /^ran$/m : /^ran 1$/m);
    }
  });

  it("states what is wrong with an image that cannot be pulled", async () => {
    const { run } = await given();
    const missing = await run({ image: { name: "127.0.0.1:1/missing:1" }, script: ["true"] });
    expect(missing.end, missing.said).to.include({ reason: "image_pull_failure" });
    expect(missing.said).to.match(/the image 127.0.0.1:1\/missing:1 cannot be had: .*refused/s);
    const refused = { name: "x", pull_policy: ["always"] };
    const { end, said } = await run({ image: refused, script: ["true"] });
    expect(end, said).to.include({ reason: "runner_configuration_error" });
    expect(said).to.contain("pull_policy always is not allowed");
  });

  it("gets variables as they are, and shows secrets to none who look at the engine", async () => {
    const { run, parent } = await given();
    const odd = "a 'b' \"c\" $HOME `id` \\n\nnext --privileged; exit 1 #";
    const inspect = { shown: "", processes: "" };
    const { end, said } = await run({
      fields: {
        variables: [
          { key: "GIT_STRATEGY", value: "none" },
          { key: "ODD", value: odd, raw: true, public: true },
          { key: "SECRET", value: "s3cret-value" },
          { key: "IMAGE", value: engine?.image("plain") },
        ],
        image: { name: "$IMAGE" },
      },
      script: ['printf "%s|" "$ODD" "$SECRET"', "echo ready", "sleep 30"],
      canceledAt: "ready",
      atCancel: async () => {
        const ids = await engine?.call(
          "ps",
          "--all",
          "--quiet",
          "--filter",
          "label=ledgerforge.run",
        );
        inspect.shown = (await engine?.call("inspect", ids ?? "")) ?? "";
      },
    });
    expect(end).to.include({ reason: "job_canceled" });
    expect(said).to.contain(`${odd}|s3cret-value|`);
    expect(inspect.shown).to.contain("ledgerforge.run").and.not.to.contain("s3cret-value");
    expect(inspect.shown).not.to.contain("HOME=/builds");
    expect(await readdir(parent)).to.include("search");
  });
});

describe("files that a container made", () => {
  it("are given to an agent that is not root", async () => {
    const { run, named } = await given();
    const opened = await openEngine();
    // Where these tests are run by root, the agent acts for another user.
    const { uid, gid } = opened.owner === undefined ? { uid: 4_321, gid: 1_234 } : userInfo();
    const engine = { ...opened, owner: opened.owner ?? `${uid}:${gid}` };
    const executor = await containers({ pullPolicies: ["never"], sandbox: undefined, engine });
    const script = ["mkdir -p out", "echo x > out/a.txt", "chmod 700 out"];
    const { end, said, project } = await run({ executor, image: named("nobody"), script });
    expect(end, said).to.deep.equal(success);
    expect(await stat(path.join(project, "out/a.txt"))).to.include({ uid, gid });
  });
});

describe("the container of a job that is canceled", () => {
  it("sends SIGTERM to its script, and runs its after_script", async () => {
    const { run } = await given();
    const { end, said } = await run({
      script: ["trap 'echo cleaned up; exit 1' TERM", "echo ready", "sleep 60 & wait"],
      afterScript: ["echo after $CI_JOB_STATUS", "ps | grep -c sleep || true"],
      canceledAt: "ready\n",
    });
    expect(end, said).to.include({ reason: "job_canceled" });
    expect(said).to.match(/^cleaned up\n.*^after canceled\n/ms);
    expect(await left()).to.equal("");
  });
});

describe("the container of a large image", () => {
  it("is made although that takes longer than other commands of the engine may", async () => {
    const { run } = await given();
    const opened = await openEngine();
    const call: typeof opened.call = (args, options) => {
      const signal = AbortSignal.timeout(args[0] === "create" ? 1 : 60_000);
      return opened.call(args, { signal, ...options });
    };
    const executor = await containers({
      ...{ pullPolicies: ["never"], sandbox: undefined, engine: { ...opened, call } },
    });
    const { end, said } = await run({ executor, script: ["echo ran"] });
    expect(end, said).to.deep.equal(success);
  });
});

describe("what an engine makes without its client, or late,", () => {
  /** An engine whose `create` takes two seconds; the file `made` is there at its end. */
  async function slow() {
    const jobs = await given();
    const { parent } = jobs;
    const at = (name: string) => path.join(parent, name);
    const { program } = await openEngine();
    // The engine has looked up the network, whose name is that of the container, when it begins.
    const made = [
      ...[
        `echo >${at("begun")}`,
        "sleep 2",
        `${program} network create --label "$5" --label "$7" "$3"`,
      ],
      ...[`${program} "$@" >${at("id")}`, `echo >${at("made")}`],
    ].join("\n");
    const client = [
      ...["#!/bin/sh", `[ "$1" = create ] || exec ${program} "$@"`],
      ...[`setsid sh -c '${made}' - "$@" >&- 2>&- &`, "wait", `cat ${at("id")}`],
    ];
    await mkdir(at("bin"));
    await writeFile(at("bin/docker"), client.join("\n"), { mode: 0o755 });
    const { PATH } = process.env;
    process.env["PATH"] = `${at("bin")}:${PATH}`;
    const engine = await openEngine().finally(() => Object.assign(process.env, { PATH }));
    const has = async (name: string) => (await readdir(parent)).includes(name);
    const executor = (makeMs = 60_000) =>
      containers({ pullPolicies: ["never"], sandbox: undefined, engine, makeMs });
    return { ...jobs, executor, has };
  }

  it("is removed with its job that was canceled", async () => {
    const { run, executor, has } = await slow();
    const { end, said } = await run({
      executor: await executor(),
      script: ["echo ran"],
      canceledAt: "Preparing",
      atCancel: async () => void (await eventually(() => has("begun"))),
    });
    expect(end, said).to.include({ reason: "job_canceled" });
    await eventually(() => has("made"));
    expect(await left()).to.equal("");
  });

  it("is removed when it appears, and its job does not wait for it", async () => {
    const { run, executor, has } = await slow();
    const { end, said } = await run({ executor: await executor(1_000), script: ["echo ran"] });
    expect(end, said).to.deep.equal({ state: "failed", reason: "runner_system_failure" });
    expect(said).to.include(
      "The container of the job could not be started: the engine takes longer",
    );
    expect(await has("made")).to.equal(false);
    await eventually(() => has("made"));
    await eventually(async () => (await left()) === "");
  });
});

describe("services of a job", () => {
  it("are reached by their aliases once they listen, and see no secrets", async () => {
    const { run, named } = await given();
    const service = named("greeting", { alias: "one, two" });
    const variables = [{ key: "NAME", value: "$WHO" }];
    const { end, said } = await run({
      fields: {
        variables: [
          { key: "GIT_STRATEGY", value: "none" },
          { key: "GREETING", value: "hello", public: true },
          { key: "WHO", value: "Anna" },
          { key: "HIDDEN", value: "s3cret-value" },
        ],
        services: [{ ...service, variables }, named("plain", { command: ["env"] })],
      },
      script: [
        ...["one", "two", "localhost-ledgerforge-test-greeting"].map(
          (host) => `nc ${host} 80 </dev/null`,
        ),
      ],
    });
    expect(end, said).to.deep.equal(success);
    expect(said.match(/^hello of Anna$/gm)).to.have.length(3);
    expect(said).to.contain("has ended").and.not.to.contain("s3cret-value");
    expect(await left()).to.equal("");
  });
});

describe("variables of a service", () => {
  it("reach its container as they are, and stand in no argument of a process", async () => {
    const { run, named } = await given();
    const secret = `s3cret-${process.pid}-`;
    const wanted = {
      ODD: ` ${secret}a 'b' "c" $HOME \`id\` \\n\n#next --privileged; é\r\nend `,
      PLAIN: `${secret}plain, of more words`,
      QUOTED: `"${secret}quoted"`,
      EMPTY: "",
      ...{ HOME: `/${secret}home`, PATH: `/bin:/${secret}path`, TMPDIR: `/${secret}tmp` },
      ...{ DOCKER_HOST: `tcp://${secret}host`, CONTAINERS_CONF: `/${secret}conf` },
      ...{ LD_PRELOAD: `/${secret}preload.so`, http_proxy: `http://${secret}proxy:1` },
    };
    const names = Object.keys(wanted);
    const variables = Object.entries({
      ...{ ...wanted, GODEBUG: `a=\n${secret}lost`, HEALTHCHECK_TCP_PORT: "80" },
    }).map(([key, value]) => ({ key, value, raw: true }));
    const say = `printf '<%s>' ${names.map((name) => `"$${name}"`).join(" ")} "$GODEBUG"`;
    const command = ["nc", "-ll", "-p", "80", "-e", "/bin/sh", "-c", say];
    const service = named("plain", { alias: "web", variables, command });
    const isOver = new AbortController();
    const shown = argumentsWith(secret, isOver.signal);
    const { end, said } = await run({
      services: [service],
      script: ["nc web 80 </dev/null | busybox base64 -w 0"],
    });
    isOver.abort();
    expect(end, said).to.deep.equal(success);
    expect(await shown).to.deep.equal([]);
    const all = [...Object.values(wanted), ""].map((value) => `<${value}>`).join("");
    expect(said).to.contain(Buffer.from(all).toString("base64"));
    expect(said).to.match(/GODEBUG is not given to the service/);
  });
});

describe("jobs that run at the same time", () => {
  for (const count of [0, 1]) {
    it(`reach neither each other nor ${count} services of each other`, async () => {
      const { run, named } = await given();
      const services = Array.from({ length: count }, () => named("greeting"));
      let attempt = "";
      const { end, said } = await run({
        services,
        script: [
          ...["nc -ll -p 80 -e /bin/answer &", "until nc localhost 80 </dev/null; do :; done"],
          ...["echo ready", "sleep 60"],
        ],
        canceledAt: "ready\n",
        async atCancel() {
          const addresses = await addressesOfJobs();
          expect(addresses).to.have.length(1 + count);
          const each = (address: string) => `nc -w 1 ${address} 80 </dev/null || echo refused`;
          attempt = (await run({ services, script: addresses.map(each) })).said;
        },
      });
      expect(end, said).to.include({ reason: "job_canceled" });
      expect(attempt.match(/^refused$/gm) ?? [], attempt).to.have.length(1 + count);
      expect(await left()).to.equal("");
    });
  }
});

describe("what an agent that was killed left of its jobs", () => {
  it("is removed, containers of services and networks as well", async () => {
    const { run, named, executor } = await given();
    const { end, said } = await run({
      services: [named("greeting")],
      script: ["trap '' TERM", "echo ready", "sleep 60"],
      canceledAt: "ready\n",
      async atCancel() {
        expect((await left()).length).to.be.greaterThan(0);
        await executor.removeAll?.(`carried-${process.pid}`);
        expect(await left()).to.equal("");
      },
    });
    expect(end, said).to.include({ state: "failed" });
  });
});
