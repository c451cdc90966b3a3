import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import { type Browser, chromium, type Page } from "playwright-core";

import { programPath } from "../process/program.ts";

const axePath = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

/** Debian's Chromium; only called where `needsProgram("chromium")` says that it is installed. */
export async function startChromium(): Promise<Browser> {
  const args = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"];
  const files = programPath.split(":").map((directory) => path.join(directory, "chromium"));
  const executablePath = files.find((file) => existsSync(file)) ?? "chromium";
  return await chromium.launch({ executablePath, args });
}

/** What axe finds serious or critical on a page, by rule and place. */
export async function seriousFindings(page: Page): Promise<readonly string[]> {
  // By the debugger, which the page's policy does not bind.
  await page.evaluate(await readFile(axePath, "utf8"));
  const results = await page.evaluate(async () => {
    const { axe } = globalThis as unknown as {
      axe: { run: () => Promise<{ violations: readonly Violation[] }> };
    };
    return (await axe.run()).violations;
  });
  return results
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 200)).join(" | ")}`);
}

type Violation = Readonly<{
  id: string;
  impact: string;
  nodes: readonly Readonly<{ html: string }>[];
}>;

/** Whether the page is wider than its window. */
export const overflows = (page: Page): Promise<boolean> =>
  page.evaluate(
    // The text of a function of the browser: this program has no types of one.
    "document.documentElement.scrollWidth > document.documentElement.clientWidth + 1",
  ) as Promise<boolean>;

/** How many lists on the page are wider than the room they have. */
export const cutTables = (page: Page): Promise<number> =>
  page.evaluate(
    "[...document.querySelectorAll('.scroll:has(.list)')].filter((one) => one.scrollWidth > one.clientWidth + 1).length",
  ) as Promise<number>;
