import { expect } from "chai";

import { renderMarkdown } from "../../../src/platform/markdown/render.ts";

const place = { directory: "docs", linkBase: "/file?of=", imageBase: "/raw?of=" };
const render = (text: string): string => renderMarkdown(text, place).trim();

describe("renderMarkdown", () => {
  for (const [text, html] of [
    ["~~gone~~", "<p><s>gone</s></p>"],
    ["- [x] a\n- [ ] b", '<ul>\n<li class="task done">a</li>\n<li class="task open">b</li>\n</ul>'],
    ["# A & *b*", '<h1 id="md-a--b">A &amp; <em>b</em></h1>'],
    ["[up](../a%20b.md#c)", '<p><a href="/file?of=a%20b.md#c">up</a></p>'],
    ["[out](../../../../etc/passwd)", '<p><a href="/file?of=etc%2Fpasswd">out</a></p>'],
    ["[root](/x)", '<p><a href="/file?of=x">root</a></p>'],
    ["[here](#c)", '<p><a href="#md-c">here</a></p>'],
    ["![i](i.png)", '<p><img alt="i" src="/raw?of=docs%2Fi.png" /></p>'],
    [
      "![far](https://evil.example/i.png)",
      '<p><a href="https://evil.example/i.png" rel="nofollow noopener noreferrer">far</a></p>',
    ],
    [
      "|a|\n|-:|\n|1|",
      '<table tabindex="0">\n<thead>\n<tr>\n<th align="right">a</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td align="right">1</td>\n</tr>\n</tbody>\n</table>',
    ],
  ] as const) {
    it(`renders ${JSON.stringify(text)}`, () => expect(render(text)).to.equal(html));
  }

  it("repeats no name of a heading", () => {
    expect(render("# a\n\n# a")).to.contain('id="md-a"').and.contain('id="md-a-1"');
  });

  for (const text of [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)><script>alert(1)</script></svg>",
    "<a href='java&#10;script:alert(1)'>x</a>",
    "<a href=' &#14; javascript:alert(1)'>x</a>",
    "[x](javascript:alert(1))",
    "[x](data:text/html,<script>alert(1)</script>)",
    "<iframe src=//evil.example></iframe>",
    "<form action=/logout method=post><button>x</button></form>",
    "<meta http-equiv=refresh content='0;url=//evil.example'>",
    "<base href=//evil.example>",
    "<style>*{display:none}</style><p style='position:fixed' class='notice'>x</p>",
    "<object data=x></object><embed src=x><math><mi xlink:href='javascript:alert(1)'>",
    "<details ontoggle=alert(1) open>x</details>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
  ]) {
    it(`leaves nothing that runs of ${text}`, () => {
      // What stands in quotes as a title is text.
      const html = render(text).replaceAll(/ title="[^"]*"/g, "");
      expect(html).not.to.match(
        /<(?:script|svg|iframe|form|button|meta|base|style|object|embed|math|noscript)|<[^>]*\son\w+=|href="\s*(?:java|data|\/\/)|style=|class="notice/i,
      );
    });
  }
});
