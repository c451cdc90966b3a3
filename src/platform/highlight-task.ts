import { htmlLines } from "./highlight-html.ts";
import { highlighter } from "./markdown/highlighter.ts";

/** Names that say what is in the file without an extension. */
const languageByName: Readonly<Record<string, string>> = {
  containerfile: "dockerfile",
  gemfile: "ruby",
  jenkinsfile: "groovy",
  rakefile: "ruby",
  vagrantfile: "ruby",
  "cmakelists.txt": "cmake",
};

export type HighlightQuestion = Readonly<{ text: string; fileName: string }>;

/** HTML of each line; null when the language is not known. A pattern may take very long on some input. */
export function run({ text, fileName }: HighlightQuestion): readonly string[] | null {
  const name = fileName.toLowerCase();
  const extension = name.split(".").at(-1) ?? "";
  const named = Object.hasOwn(languageByName, name) ? languageByName[name] : undefined;
  const language = named ?? extension;
  if (highlighter.getLanguage(language) === undefined) return null;
  const { value } = highlighter.highlight(text, { language, ignoreIllegals: true });
  return htmlLines(value);
}
