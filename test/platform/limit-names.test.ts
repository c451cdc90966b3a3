import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { expect } from "chai";

/** As `/metrics` shows them; the parser's are named after their tasks. */
const name = /^[a-z_]+\.[a-z_]+$/;

describe("the limits of the service", () => {
  it("are documented, and no others", async () => {
    expect(await documented()).to.deep.equal(await declared());
  });
});

async function declared(): Promise<readonly string[]> {
  const files = (await readdir("src", { recursive: true })).filter((file) => file.endsWith(".ts"));
  const texts = await Promise.all(files.map((file) => readFile(path.join("src", file), "utf8")));
  const names = texts
    .filter((text) => /\bnew Limit\(/.test(text))
    .flatMap((text) => [...text.matchAll(/\bname: "([^"]+)"/g)].map(([, each = ""]) => each));
  return names.filter((each) => name.test(each)).sort();
}

async function documented(): Promise<readonly string[]> {
  const text = await readFile("docs/operations.md", "utf8");
  const [, table = ""] = text.split("| limit | value (share) |");
  const [rows = ""] = table.split("\n\n", 1);
  const names = rows.split("\n").flatMap((row) => row.split("|")[1]?.match(/`[^`]+`/g) ?? []);
  return names
    .map((each) => each.slice(1, -1))
    .filter((each) => name.test(each))
    .sort();
}
