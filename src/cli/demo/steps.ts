import { invariant } from "../../platform/invariant.ts";
import type { Api } from "./api.ts";
import type { Receiver } from "./receiver.ts";
import { program, type Service } from "./service.ts";
import type { Shell } from "./shell.ts";

export type Demo = Readonly<{
  shell: Shell;
  service: Service;
  api: Api;
  receiver: Receiver;
  /** Everything the demo writes is below it. */
  folder: string;
  /** The administrator's. */
  password: string;
  /** What a step found that a later one needs. */
  facts: Map<string, string>;
}>;

export type Step = Readonly<{
  title: string;
  /** Gives what was seen; throws when it is not what should be. */
  run: (demo: Demo) => Promise<string>;
}>;

export const project = "/project/admin/hello";

export const accountSteps: readonly Step[] = [
  {
    title: "An access token, by alias and password",
    async run({ api, password }) {
      const scopes = ["USER_WRITE", "PROJECT_WRITE", "PROJECT_EDIT"];
      const body = { name: "demo", scopes };
      const login = `admin:${password}`;
      const created = await api.json("POST", "/user/settings/access-token/create", { body, login });
      const token = created.at("token").string();
      api.useToken(token);
      return `a token of ${token.length} characters, shown once`;
    },
  },
  {
    title: "Who am I",
    async run({ api }) {
      const me = await api.json("GET", "/user/me");
      return `${me.at("username").string()} <${me.at("email").string()}>`;
    },
  },
  {
    title: "The administrator makes a second user",
    async run({ api, shell }) {
      const secret = "the password of anna";
      shell.hide(secret);
      const body = { alias: "anna", email: "anna@example.org", password: secret };
      const user = await api.json("POST", "/user", { body });
      return `${user.at("username").string()} has the id ${user.at("id").string()}`;
    },
  },
];

export const projectSteps: readonly Step[] = [
  {
    title: "A project",
    async run({ api, facts }) {
      const body = { title: "Hello", alias: "hello", isPrivate: true, language: "TypeScript" };
      const created = await api.json("POST", "/project", { body });
      facts.set("projectId", created.at("id").string());
      return `push to ${created.at("httpTransportUrl").string()}`;
    },
  },
];

export const readingSteps: readonly Step[] = [
  {
    title: "The project by alias and by id, and among my own",
    async run({ api, facts }) {
      const byAlias = await api.json("GET", project);
      const byId = await api.json("GET", `/project/${facts.get("projectId")}`);
      // Workers pack and measure the repository meanwhile.
      const shown = (value: unknown): string =>
        JSON.stringify(value, (key, each: unknown) => (key === "usedBytes" ? undefined : each));
      invariant(shown(byAlias.value) === shown(byId.value), "both ways show the same project");
      const own = await api.json("GET", "/project/my");
      return `${own.at("page", "totalElements").number()} project of my own`;
    },
  },
  {
    title: "Branches, tags and commits",
    async run({ api, facts }) {
      const branches = await api.json("GET", `${project}/branch`);
      const names = branches.at("_embedded", "branchList").items();
      await api.json("GET", `${project}/branch?branchName=topic`);
      const standard = await api.json("GET", `${project}/branch/default`);
      const tags = await api.json("GET", `${project}/tag`);
      const commits = await api.json("GET", `${project}/commits?size=3`);
      const hash = commits.at("_embedded", "commitList", 0, "hash").string();
      await api.json("GET", `${project}/commit/${hash}`);
      facts.set("commit", hash);
      const total = commits.at("page", "totalElements").number();
      const tagTotal = tags.at("page", "totalElements").number();
      const name = standard.at("name").string();
      return `${names.length} branches (default ${name}), ${tagTotal} tags, ${total} commits`;
    },
  },
  {
    title: "A file as text and as bytes, and the whole tree",
    async run({ api, facts }) {
      const commit = facts.get("commit");
      const at = `commitHash=${commit}&file=README.md`;
      const text = await api.text("GET", `${project}/blob?${at}`);
      const bytes = await api.text("GET", `${project}/blob/download?${at}`, { quiet: true });
      invariant(bytes.length > 0 && text.includes(bytes.slice(2, 20)), "both are the same file");
      const tree = `${project}/blob/recursive?commitHash=${commit}&depth=10`;
      const files = await api.json("GET", tree);
      return `${files.items().length} files`;
    },
  },
];

export const historySteps: readonly Step[] = [
  {
    title: "Who did what, when, from where",
    async run({ shell, service, folder }) {
      const args = [program, "audit", "--project", "admin/hello"];
      const options = { cwd: folder, env: service.environment };
      const output = await shell.run(process.execPath, args, options);
      const entries = output.trim().split("\n").length;
      const verified = await shell.run(process.execPath, [program, "audit", "verify"], options);
      return `${entries} lines; ${verified.trim().split("\n").at(-1)}`;
    },
  },
  {
    title: "Every view built again from the log, while the service keeps answering",
    async run({ shell, service, api, folder }) {
      const args = [program, "rebuild", "--verify"];
      let rebuilding = true;
      let answers = 0;
      const reading = (async () => {
        while (rebuilding) {
          await api.json("GET", project, { quiet: true });
          answers += 1;
        }
      })();
      const options = { cwd: folder, env: service.environment };
      const rebuilt = shell.run(process.execPath, args, options).finally(() => {
        rebuilding = false;
      });
      const [output] = await Promise.all([rebuilt, reading]);
      return `${answers} reads answered meanwhile; ${output.trim().split("\n").at(-1)}`;
    },
  },
];
