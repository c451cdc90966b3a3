export const escaped = (text: string): string =>
  text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

/** What is before the links of a page of PEP 503, and after them. */
export function pageAround(title: string): readonly [head: string, tail: string] {
  const head = `<!DOCTYPE html>
<html>
<head><meta name="pypi:repository-version" content="1.1"><title>${escaped(title)}</title></head>
<body>
`;
  return [head, "\n</body>\n</html>\n"];
}
