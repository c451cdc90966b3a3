const token =
  /\/\/.*|\/\*[\s\S]*?\*\/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|\/(?<=(?:[(,=:[!&|?{};>]\s*|\breturn )\/)(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/\w*|[`{}]/g;
const templateText = /(?:\\[\s\S]|\$(?!\{)|[^\\`$])*(?:`|\$\{)/y;

/** The code of a source file in TypeScript, without comments, texts, templates and regular expressions. */
export function codeOf(source: string): string {
  const parts: string[] = [];
  const isInTemplate: boolean[] = [];
  let from = 0;
  for (;;) {
    token.lastIndex = from;
    const found = token.exec(source);
    if (found === null) break;
    const [word] = found;
    parts.push(source.slice(from, found.index));
    from = found.index + word.length;
    if (word === "{") isInTemplate.push(false);
    const continues = word === "}" && isInTemplate.pop() === true;
    if (word !== "`" && !continues) continue;
    templateText.lastIndex = from;
    const [text = ""] = templateText.exec(source) ?? [];
    from += text.length;
    if (text.endsWith("{")) isInTemplate.push(true);
  }
  return [...parts, source.slice(from)].join(" ");
}
