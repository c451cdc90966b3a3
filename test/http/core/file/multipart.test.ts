import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { expect } from "chai";

import { receiveFiles } from "../../../../src/http/core/file/multipart.ts";

const part = (name: string) =>
  `--b\r\nContent-Disposition: form-data; name="${name}"; filename="${name}"\r\n\r\n`;

describe("the parts of a form", () => {
  it("may be cut in a part that is not read: the form is refused", async () => {
    const chunks = [`${part("package")}one\r\n${part("package2")}`, "two, cut"];
    const incoming = {
      contentType: "multipart/form-data; boundary=b",
      body: Readable.from(chunks.map((chunk) => Buffer.from(chunk))),
    };
    const receiving = receiveFiles(incoming, {
      key: "package",
      anyKey: true,
      ignoresFurther: true,
      filesMax: 1,
      take: async ({ content }) => {
        await buffer(content);
        return { release: async () => undefined } as never;
      },
    });
    await expect(receiving).to.be.rejectedWith(/cut|malformed/);
  });
});
