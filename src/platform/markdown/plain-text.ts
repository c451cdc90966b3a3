import MarkdownIt from "markdown-it";

/** Text beyond this is not read: up to here a text takes at most a quarter of a second, where it is. */
const lengthMax = 65_536;
/** Blocks and links nested deeper are left out: each line of a text costs as much as it is deep. */
const maxNesting = 20;
/** Takes the place of what is no text, so that its neighbours do not become one word. */
const leftOut = "\uFFFC";
/** Of so many in one paragraph each is looked for by itself, so that code which holds another one stays. */
const commentsMax = 100;

// Tables are read as the lines that they are written in.
const markdown = new MarkdownIt({ html: true, maxNesting }).disable(["text_join", "table"]);

type Token = ReturnType<typeof markdown.parse>[number];

/** What stands in the text for a link. */
export type LinkText = (address: string, words: string) => string;

/**
 * The beginning of a text in Markdown as a page shows it, without what names nothing: code, comments and tags of HTML,
 * and escaped `@`, `#` and `!`.
 */
export function plainText(text: string, linkText: LinkText = (_, words) => words): string {
  const reader = new TextReader(linkText);
  reader.read(markdown.parse(text.slice(0, lengthMax), {}));
  return reader.text;
}

/** The beginning of a text in Markdown as it is written, without its comments of HTML. */
export function withoutComments(text: string): string {
  const start = text.slice(0, lengthMax);
  if (!start.includes("<!--")) return start;
  const lines = start.split(/\r\n?|\n/);
  for (const token of markdown.parse(start, {}).toReversed()) {
    const [from, to] = token.map ?? [0, 0];
    const block = lines.slice(from, to).join("\n");
    const shown = withoutCommentsOf(token, block);
    if (shown !== block) lines.splice(from, to - from, ...shown.split("\n"));
  }
  return lines.join("\n");
}

/** @param block the lines of the token, with the marks of what it stands in: these may divide a comment */
function withoutCommentsOf(token: Token, block: string): string {
  const parts = [...new Set(commentsIn(token))];
  const areWhole = parts.length <= commentsMax && parts.every((part) => block.includes(part));
  if (token.type === "html_block" || !areWhole) return block.replaceAll(comment, "");
  return parts.reduce((rest, part) => rest.replaceAll(part, ""), block);
}

function commentsIn({ type, content, children }: Token): readonly string[] {
  if (type === "html_inline") return content.match(comment) ?? [];
  return (children ?? []).flatMap(commentsIn);
}

/** One that nothing ends goes on to the end of the text. */
const comment = /<!--(?:-?>|.*?(?:-->|$))/gs;
/** Of HTML: a comment, a tag by its name, what else is no text, or text. */
const htmlPart =
  /(?<comment><!--(?:-?>|.*?(?:-->|$)))|<(?<end>\/?)(?<name>[a-z][a-z0-9-]*)(?:[^<>a-z0-9-][^<>]*)?>|<[!?][^<>]*>|(?<text>[^<]+|<)/gis;
/** Elements whose content is code, or not shown. */
const codeElements: ReadonlySet<string> = new Set(["code", "pre", "script", "style", "textarea"]);

/** Reads tokens in their order; see `plainText`. */
class TextReader {
  readonly #linkText: LinkText;
  readonly #pieces: string[] = [];
  /** The link whose words are read, and where they begin. */
  #link: Readonly<{ address: string; from: number }> | undefined;
  /** Within an element of HTML that holds code; the end of a paragraph ends one that began in it. */
  #isInCode = false;
  /** Within a comment that the end of a block does not end, as on pages. */
  #isInComment = false;

  constructor(linkText: LinkText) {
    this.#linkText = linkText;
  }

  get text(): string {
    return this.#pieces.join("");
  }

  read(tokens: readonly Token[]): void {
    for (const token of tokens) this.#readToken(token);
  }

  #readToken(token: Token): void {
    const { type, content, children } = token;
    switch (type) {
      case "inline":
        this.#readInline(children ?? []);
        break;
      case "image":
        this.read(children ?? []);
        break;
      case "text":
        this.#add(content);
        break;
      case "text_special":
        this.#add(/[@#!]/.test(content) ? leftOut : content);
        break;
      case "softbreak":
      case "hardbreak":
        this.#add("\n");
        break;
      case "link_open":
        this.#link = { address: String(token.attrGet("href")), from: this.#pieces.length };
        break;
      case "link_close":
        this.#endLink();
        break;
      case "html_inline":
      case "html_block":
        this.#readHtml(content, type === "html_block");
        break;
      case "code_inline":
        this.#add(leftOut);
        break;
      case "code_block":
      case "fence":
        this.#add(`${leftOut}\n\n`);
        break;
    }
  }

  #add(text: string): void {
    if (!this.#isInCode && !this.#isInComment) this.#pieces.push(text);
  }

  #readInline(tokens: readonly Token[]): void {
    const wasInCode = this.#isInCode;
    this.read(tokens);
    this.#isInCode &&= wasInCode;
    this.#add("\n\n");
  }

  #endLink(): void {
    if (this.#link === undefined) return;
    const { address, from } = this.#link;
    this.#link = undefined;
    const words = this.#pieces.splice(from).join("");
    this.#add(this.#linkText(address, words));
  }

  /** @param isBlock it has text between its tags */
  #readHtml(html: string, isBlock: boolean): void {
    const source = this.#isInComment ? `<!-- ${html}` : html;
    for (const { groups } of source.matchAll(htmlPart)) {
      const { comment: hidden, end, name = "", text } = groups ?? {};
      this.#isInComment = hidden?.endsWith("-->") === false;
      if (codeElements.has(name.toLowerCase())) this.#isInCode = end === "";
      if (isBlock && text !== undefined) this.#add(text);
      else this.#add(hidden === undefined ? " " : leftOut);
    }
    if (isBlock) this.#add("\n\n");
  }
}
