import MarkdownIt from "markdown-it";
import sanitize from "sanitize-html";
import { highlighter } from "./highlighter.ts";

import { resolveLink } from "./link.ts";

/** Where a text stands, which is what its relative links start from. */
export type Place = Readonly<{
  /** Directory of the file that holds the text, without a slash at the end; empty for the root. */
  directory: string;
  /** Address of a file; its path is added, encoded. Relative links are dropped when it is empty. */
  linkBase: string;
  /** The same for what an image shows. */
  imageBase: string;
}>;

/** Keeps names of a text apart from those of the page around it. */
const idPrefix = "md-";
/** Code beyond this in one text is not coloured. */
const colouredLengthMax = 100_000;
/** Text nested deeper is left out by the parser. */
const maxNesting = 50;

let colouredLength = 0;

const markdown = new MarkdownIt({
  html: true,
  linkify: true,
  maxNesting,
  highlight(code, language) {
    colouredLength += code.length;
    const isKnown = language !== "" && highlighter.getLanguage(language) !== undefined;
    if (!isKnown || colouredLength > colouredLengthMax) return "";
    return highlighter.highlight(code, { language, ignoreIllegals: true }).value;
  },
});

type Tokens = ReturnType<typeof markdown.parse>;

/**
 * CommonMark with tables, strikethrough, task lists and bare links of GitHub's dialect, as HTML without
 * anything that runs, loads from another site, or leaves its place in the page.
 */
export function renderMarkdown(text: string, place: Place): string {
  colouredLength = 0;
  const tokens = markdown.parse(text, {});
  giveIds(tokens);
  showTasks(tokens);
  alignCells(tokens);
  return sanitize(markdown.renderer.render(tokens, markdown.options, {}), optionsFor(place));
}

/** Each heading can be linked to by its words. */
function giveIds(tokens: Tokens): void {
  const seen = new Map<string, number>();
  for (const [index, token] of tokens.entries()) {
    if (token.type !== "heading_open") continue;
    const words = tokens[index + 1]?.content.toLowerCase() ?? "";
    const slug = words.replaceAll(/[^\p{L}\p{N}\s_-]/gu, "").replaceAll(/\s/g, "-");
    const times = seen.get(slug) ?? 0;
    seen.set(slug, times + 1);
    token.attrSet("id", idPrefix + (times === 0 ? slug : `${slug}-${times}`));
  }
}

/** `- [x] done` of GitHub's dialect (GFM 5.3). */
function showTasks(tokens: Tokens): void {
  for (const [index, token] of tokens.entries()) {
    if (token.type !== "list_item_open") continue;
    const [first] = tokens[index + 2]?.children ?? [];
    const mark = first?.type === "text" ? /^\[([ xX])\] /.exec(first.content) : null;
    if (first === undefined || mark === null) continue;
    first.content = first.content.slice(mark[0].length);
    const words = mark[1] === " " ? "open" : "done";
    token.attrSet("class", `task ${words}`);
  }
}

/** As an attribute: the page takes no styles but those of its stylesheets. */
function alignCells(tokens: Tokens): void {
  for (const token of tokens) {
    const style = token.attrGet("style");
    if (style === null) continue;
    token.attrSet("align", String(style).replace("text-align:", ""));
  }
}

const text = ["align", "title", "lang", "dir"];

function optionsFor(place: Place): sanitize.IOptions {
  return {
    allowedTags: [
      ...["a", "abbr", "b", "blockquote", "br", "code", "dd", "del", "details", "div", "dl", "dt"],
      ...["em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "img", "ins", "kbd", "li", "mark"],
      ...["ol", "p", "picture", "pre", "q", "s", "samp", "small", "span", "strong", "sub"],
      ...["summary", "sup", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "ul", "var"],
    ],
    allowedAttributes: {
      "*": [...text, "id"],
      a: ["href", "rel", "id"],
      img: ["src", "alt", "width", "height"],
      ol: ["start"],
      td: ["colspan", "rowspan"],
      th: ["colspan", "rowspan"],
      details: ["open"],
      li: ["class"],
      // Only those that are set here get through `transformTags`.
      pre: ["tabindex"],
      table: ["tabindex"],
      span: ["class"],
      code: ["class"],
    },
    allowedClasses: { li: ["task", "open", "done"], span: [/^hljs-/], code: [/^language-/] },
    allowedSchemes: ["http", "https", "mailto"],
    allowedSchemesByTag: { img: [] },
    allowProtocolRelative: false,
    nestingLimit: maxNesting * 2,
    transformTags: {
      "*": (tagName, attribs) => ({ tagName, attribs: ownIds(attribs) }),
      a: (tagName, attribs) => ({ tagName, attribs: linkOf(ownIds(attribs), place) }),
      img: (tagName, attribs) => imageOf(tagName, attribs, place),
      pre: scrolled,
      table: scrolled,
    },
  };
}

type Attributes = Record<string, string>;

function ownIds(attribs: Attributes): Attributes {
  const { id, ...rest } = attribs;
  if (id === undefined) return rest;
  return { ...rest, id: id.startsWith(idPrefix) ? id : idPrefix + id };
}

/** What may be wider than the page scrolls within itself, by the keyboard as well. */
const scrolled = (tagName: string, attribs: Attributes): sanitize.Tag => ({
  tagName,
  attribs: { ...ownIds(attribs), tabindex: "0" },
});

function linkOf({ href, ...rest }: Attributes, place: Place): Attributes {
  if (href === undefined) return rest;
  if (href.startsWith("#")) return { ...rest, href: `#${idPrefix}${href.slice(1)}` };
  if (isWhole(href)) return { ...rest, href, rel: "nofollow noopener noreferrer" };
  const address = resolveLink(href, place.directory, place.linkBase);
  return address === undefined ? rest : { ...rest, href: address };
}

/** An image of another site becomes a link, so that opening a page sends no request to that site. */
function imageOf(tagName: string, { src = "", ...rest }: Attributes, place: Place): sanitize.Tag {
  const words = rest["alt"] || "image";
  if (isWhole(src)) {
    const attribs = { href: src, rel: "nofollow noopener noreferrer" };
    return { tagName: "a", attribs, text: words };
  }
  const address = resolveLink(src, place.directory, place.imageBase);
  if (address === undefined) return { tagName: "span", attribs: {}, text: words };
  return { tagName, attribs: { ...rest, alt: rest["alt"] ?? "", src: address } };
}

const isWhole = (address: string): boolean => /^(?:[a-z][a-z0-9+.-]*:|\/\/)/i.test(address.trim());
