import { expect } from "chai";

import { html } from "../../../../src/http/page/core/html.ts";

describe("a template", () => {
  it("escapes whatever text is put into it", () => {
    const evil = `<script>alert("x")</script>'&`;
    expect(html`<p title="${evil}">${evil}</p>`.markup).to.equal(
      '<p title="&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;&#39;&amp;">' +
        "&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt;&#39;&amp;</p>",
    );
  });

  it("takes other templates as they are, lists one by one, and nothing for nothing", () => {
    const items = ["a<", "b"].map((text) => html`<li>${text}</li>`);
    expect(html`<ul>${items}${null}${undefined}${false}${0}</ul>`.markup).to.equal(
      "<ul><li>a&lt;</li><li>b</li>0</ul>",
    );
  });

  it("takes nothing for a template that only looks like one", () => {
    const forged = JSON.parse('{"markup":"<b>"}') as string;
    expect(() => html`${forged}`).to.throw();
  });
});
