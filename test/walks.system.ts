import { execFile } from "node:child_process";
import { cp, readFile, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";

import { temporaryDirectory } from "./support/git/git.ts";

const run = promisify(execFile);
const copied = [
  "package.json",
  "tsconfig.json",
  ".mocharc.cjs",
  "bin",
  "docs",
  "migrations",
  "src",
  "test",
];

/** A copy of the sources, in which a walk of CONTRIBUTING.md is begun. */
async function givenCopy() {
  const root = await temporaryDirectory();
  for (const name of copied) await cp(name, path.join(root, name), { recursive: true });
  await symlink(path.resolve("node_modules"), path.join(root, "node_modules"));

  async function edit(file: string, from: string, to: string): Promise<void> {
    const place = path.join(root, file);
    const text = await readFile(place, "utf8");
    expect(text.split(from), `${from} in ${file}`).to.have.length(2);
    await writeFile(
      place,
      text.replace(from, () => to),
    );
  }

  /** What the tests of a file report: an empty text when they pass. */
  async function failures(file: string): Promise<string> {
    const { PATH = "", HOME = "" } = process.env;
    const mocha = ["node_modules/mocha/bin/mocha.js", "--no-parallel", file];
    const options = { cwd: root, env: { PATH, HOME }, maxBuffer: 64 * 1024 ** 2 };
    return await run(process.execPath, mocha, options).then(
      () => "",
      ({ stdout, stderr }: { stdout: string; stderr: string }) =>
        `${/\d+ failing[\s\S]*/.exec(stdout)?.[0] ?? stdout}${stderr}`,
    );
  }

  return { edit, failures };
}

const lastExample = "\n  }\n]\n";
const exampleOf = (type: string, data: object) =>
  `\n  },\n  ${JSON.stringify({ type, data })}\n]\n`;
const examples = "test/events/label/label.json";
const labelEvents = "src/events/label/label.ts";
const history = "test/events/history.test.ts";

describe("a walk of CONTRIBUTING", () => {
  it("adds a field: the example is red until the event has it", async () => {
    const { edit, failures } = await givenCopy();
    type Example = Readonly<{ type: string; data: object }>;
    const all = JSON.parse(await readFile(examples, "utf8")) as readonly Example[];
    const { data } = all.find(({ type }) => type === "LabelCreated") as Example;
    await edit(examples, lastExample, exampleOf("LabelCreated", { ...data, isPinned: true }));
    expect(await failures(history)).to.include("isPinned");
    await edit(
      labelEvents,
      "export const LabelDetails = z.object({\n",
      "export const LabelDetails = z.object({\n  isPinned: z.boolean().optional(),\n",
    );
    expect(await failures(history)).to.equal("");
  });

  it("adds an endpoint: it has to say whether it answers of the past", async () => {
    const { edit, failures } = await givenCopy();
    const route = (more: string) => `
const countLabels = route({
  ...reading,
  method: "get",
  path: \`\${path}-total\`,
  operationId: "countLabels",
  summary: "Count the labels of a project",${more}
  reply: z.object({ total: z.int() }).meta({ id: "LabelTotal" }),
  handle: async ({ request: { project } }, { db }) => {
    const { total } = await listLabels(db, project.id, { limit: 1, offset: 0 });
    return { total };
  },
});

`;
    const file = "src/http/api/label/label.ts";
    const routes = "export const labelRoutes: readonly Route[] = [";
    await edit(file, routes, `${route("")}${routes}countLabels, `);
    const asOf = "test/http/core/as-of-routes.test.ts";
    expect(await failures(asOf)).to.include("/label-total");
    await edit(file, route(""), route("\n  asOf: { readModels: [labelProjection] },"));
    expect(await failures(asOf)).to.equal("");
  });

  it("adds an event: its example and its undo are required", async () => {
    const { edit, failures } = await givenCopy();
    await edit(
      labelEvents,
      "export const labelEvents = {\n",
      "export const labelEvents = {\n  LabelArchived: z.object({ archivedById: UserId, archivedAt: IsoInstant }),\n",
    );
    expect(await failures(history)).to.include("LabelArchived");
    expect(await failures("test/http/api/undo/table.test.ts")).to.include("LabelArchived");
  });

  it("adds a package type: its page has to say how a client is set up", async () => {
    const { edit, failures } = await givenCopy();
    const file = "src/events/package/version.ts";
    await edit(
      file,
      "export const PackageType = z.enum([",
      'export const PackageType = z.enum(["vagrant", ',
    );
    expect(await failures("test/http/page/registry/install.test.ts")).to.include("vagrant");
  });
});
