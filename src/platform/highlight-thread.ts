import { parentPort } from "node:worker_threads";

import { htmlLines } from "./highlight-html.ts";
import { highlighter } from "./markdown/highlighter.ts";

/** Runs in a thread, because a pattern may take very long on some input. */
parentPort?.on("message", ({ text, fileName }: { text: string; fileName: string }) => {
  parentPort?.postMessage({ answer: coloured(text, fileName) });
});
parentPort?.postMessage("ready");

/** Names that say what is in the file without an extension. */
const languageByName: Readonly<Record<string, string>> = {
  containerfile: "dockerfile",
  gemfile: "ruby",
  jenkinsfile: "groovy",
  rakefile: "ruby",
  vagrantfile: "ruby",
  "cmakelists.txt": "cmake",
};

function coloured(text: string, fileName: string): readonly string[] | null {
  const name = fileName.toLowerCase();
  const extension = name.split(".").at(-1) ?? "";
  const named = Object.hasOwn(languageByName, name) ? languageByName[name] : undefined;
  const language = named ?? extension;
  if (highlighter.getLanguage(language) === undefined) return null;
  const { value } = highlighter.highlight(text, { language, ignoreIllegals: true });
  return htmlLines(value);
}
