import { Readable } from "node:stream";
import { expect } from "chai";
import type { Context } from "koa";
import { parseCommandRequest } from "../../../src/git/command-request.ts";
import { lfsPointer } from "../../../src/git/lfs-pointer.ts";
import { isRefName, isWritablePath, repositoryPath } from "../../../src/git/name.ts";
import { parseCommit, parseTag, parseTree, subjectOf } from "../../../src/git/object/object.ts";
import { cleanMessage } from "../../../src/git/object/writer.ts";
import { packet } from "../../../src/git/pkt-line.ts";
import { parsePushHead } from "../../../src/git/push/request.ts";
import { readGpgStatus, sshSignerOf } from "../../../src/git/signature/signature.ts";
import { rawEntries } from "../../../src/git/tree-edit.ts";
import { basicCredentials } from "../../../src/http/access/credentials.ts";
import { returnPath } from "../../../src/http/access/return-to.ts";
import { readForm, readJson } from "../../../src/http/core/body.ts";
import { byteRange } from "../../../src/http/core/file/byte-range.ts";
import { receiveFiles } from "../../../src/http/core/file/multipart.ts";
import { composerName } from "../../../src/package/composer/format.ts";
import { parseDcf } from "../../../src/package/cran/format.ts";
import { parseControl } from "../../../src/package/debian/format.ts";
import { genericName, plainVersion } from "../../../src/package/generic/format.ts";
import { moduleNamed } from "../../../src/package/go/format.ts";
import { mavenBaseVersion, mavenName } from "../../../src/package/maven/format.ts";
import { npmName, npmVersion } from "../../../src/package/npm/format.ts";
import { nugetName, nugetVersion } from "../../../src/package/nuget/format.ts";
import { pypiName, pypiVersion } from "../../../src/package/pypi/format.ts";
import { gemYaml } from "../../../src/package/rubygem/format.ts";
import { parseCertificates } from "../../../src/platform/identity/certificate.ts";
import { parseXml } from "../../../src/platform/identity/xml.ts";
import { readSshPublicKey } from "../../../src/platform/key/ssh-key.ts";
import { matchesTemplate } from "../../../src/platform/name-template.ts";
import { checkOutboundUrl } from "../../../src/platform/outbound/url.ts";
import { parseDotenv } from "../../../src/services/pipeline/reported-variable.ts";
import { parseSshCommand } from "../../../src/ssh/command.ts";
import { expectLinear } from "../../support/app/growth.ts";
import { leastOf, processorMs } from "../../support/app/measure.ts";
import { parsePatch } from "../../support/git/patch.ts";

/** No work grows faster than the client's input: every parser, at 1, 2, 4 and 8 times the input. */

/** As much of a request as reading its body needs. */
function bodyOf(type: string, bytes: Buffer): Context {
  const req = Object.assign(Readable.from([bytes]), { headers: {} });
  return { req, is: () => type } as unknown as Context;
}

const limits = { bytesMax: 2 * 1024 ** 2, timeoutMs: 20_000 };
const multipart = "multipart/form-data; boundary=frontier";

async function files(text: string): Promise<void> {
  const body = Readable.from([Buffer.from(text)]);
  const take = async ({ content }: { content: Readable }) => {
    for await (const _ of content);
    return { blob: { release: async () => undefined } };
  };
  const form = { key: "files", filesMax: 100, take };
  await receiveFiles({ contentType: multipart, body } as Parameters<typeof receiveFiles>[0], form);
}

const form = (text: string) => readForm(bodyOf("form", Buffer.from(text)), limits);
const json = (text: string) => readJson(bodyOf("json", Buffer.from(text)), limits);
const xml = (text: string) => parseXml(text, 100_000);
const commit = (text: string) => parseCommit("0".repeat(40), Buffer.from(text));
const tag = (text: string) => parseTag("0".repeat(40), Buffer.from(text));

/** Runs of what parsers read twice: separators, openings without ends, escapes, near misses. */
const pieces = [
  ["a&", "a=1&", "a=%00&", "&", "=", "%", "a[b]=&"],
  ["[", "{", '{"":', "[[],", '"\\\\', '\\"', '"\\u0061', "0,", "[0,0],", '{"a":"b"},', "\\"],
  ["<a>", "<a b='", "<a><b c='d'/>", "&amp;", "<!--", "<![CDATA[", "]]>", "<?", "a='b' ", "&#x1;"],
  ["\r\n--frontier", "\r\n--frontie", "\r", "\n", "--frontier\r\n", "a: b\r\n"],
  [
    " ",
    "\t",
    "/",
    "//",
    "../../",
    ".",
    "-",
    "*",
    "**",
    "?a",
    "@",
    "@{",
    "~",
    ":",
    ";",
    ",",
    "<",
    ">",
  ],
  ["0", "1.", "a.", "a-", "a_", "-0", "+", "v1", "AAAA", "\u0000", "é", "\u200c", "\ud83d\ude00"],
  ["\n ", "\n\n", "parent 0\n", "gpgsig a\n b\n", "@@ -1 +1 @@\n", "+a\n", "[GNUPG:] X \n", "0000"],
].flat();

const texts: Readonly<Record<string, (text: string) => unknown>> = {
  "a form": form,
  JSON: json,
  XML: xml,
  "the content of XML": (text) => xml(`<a>${text}</a>`),
  "an instruction in XML": (text) => xml(`<a><?b ${text}c?></a>`),
  "a comment in XML": (text) => xml(`<a><!--${text}--></a>`),
  "XML inside of an element": (text) => xml(`<a ${text}>${text}</a>`),
  "files of a form": (text) =>
    files(
      `--frontier\r\nContent-Disposition: form-data; name="files"; filename="${text}"\r\n\r\n${text}`,
    ),
  "a commit": commit,
  "a commit's message and people": (text) =>
    commit(`author ${text}\ncommitter ${text} <${text}\n\n${text}`),
  "a subject": subjectOf,
  "a cleaned message": cleanMessage,
  "a tag": (text) => tag(`tagger ${text}\n\n${text}`),
  "a tree": (text) => parseTree(Buffer.from(`100644 a\0${"0".repeat(20)}${text}`), 20),
  "raw entries of a tree": (text) => rawEntries(Buffer.from(text)),
  "a patch": (text) => parsePatch(Buffer.from(`@@ -1 +1 @@\n${text}`)),
  "a push": (text) => parsePushHead(Buffer.from(text)),
  "a command of git": (text) => parseCommandRequest(Buffer.from(text)),
  "a pointer": (text) =>
    lfsPointer(Buffer.from(`version https://git-lfs.github.com/spec/v1\n${text}`)),
  "what gpg says": (text) => readGpgStatus(text, 0),
  "an SSH signature": (text) => sshSignerOf(`-----BEGIN SSH SIGNATURE-----\n${text}`),
  "an SSH key": (text) => readSshPublicKey(`ssh-ed25519 ${text}`),
  certificates: (text) => parseCertificates(`-----BEGIN CERTIFICATE-----${text}`, new Date()),
  "an SSH command": (text) => parseSshCommand(`git-upload-pack ${text}`),
  "a range of bytes": (text) => byteRange(`bytes=${text}`, 1_000),
  "Basic credentials": (text) => basicCredentials(`Basic ${text}`),
  "a way back": (text) => returnPath(`/${text}`, "/"),
  "an address to call": (text) =>
    checkOutboundUrl(`https://${text}`, { hosts: new Set(), networks: [] } as never),
  "a path": repositoryPath,
  "a path to write": isWritablePath,
  "a ref": (text) => isRefName(`refs/heads/${text}`),
  "a name of Composer": (text) => composerName(text, text),
  "a control file of Debian": (text) => parseControl(`a:${text}\u2028`),
  "empty lines of a control file": (text) => parseControl(`a: b${text}c`),
  "a DESCRIPTION of R": (text) => parseDcf(`a:${text}\u2028`),
  "more lines of a DESCRIPTION": (text) => parseDcf(`a: b\n ${text.replaceAll("\n", "x\n ")}`),
  "a go.mod": moduleNamed,
  "a module without a name": (text) => moduleNamed(`module ${text})`),
  "a dotenv report": (text) => parseDotenv(`A=${text}x\ry`),
  "a generic name": genericName,
  "a plain version": plainVersion,
  "a name of Maven": (text) => mavenName(text, text),
  "a version of Maven": mavenBaseVersion,
  "a name of npm": (text) => npmName(text, text),
  "a version of npm": npmVersion,
  "a name of NuGet": nugetName,
  "a version of NuGet": nugetVersion,
  "a name of PyPI": pypiName,
  "a version of PyPI": pypiVersion,
};

const bytesUnit = 8 * 1024;

describe("work that grows with the input", () => {
  for (const [what, parse] of Object.entries(texts)) {
    it(`is linear for ${what}, whatever is repeated in it`, async () => {
      for (const piece of pieces) {
        const prepare = (bytes: number) => piece.repeat(bytes / piece.length);
        await expectLinear(bytesUnit, prepare, parse).catch((error: Error) => {
          throw new Error(`${JSON.stringify(piece)}: ${error.message}`);
        });
      }
    });
  }

  it("is linear for the commands of a push", async () => {
    const line = (index: number) =>
      packet(`${"0".repeat(40)} ${"1".repeat(40)} refs/heads/branch-${index}\n`);
    await expectLinear(
      500,
      (count) => Buffer.concat(Array.from({ length: count }, (_, index) => line(index))),
      parsePushHead,
    );
  });

  it("is linear for YAML with many keys", async () => {
    const keys = (count: number) =>
      Array.from({ length: count }, (_, index) => `k${index}: \n`).join("");
    await expectLinear(4_000, keys, (text) => gemYaml(text, "specification"));
  });

  it("is linear for XML with many name spaces and attributes", async () => {
    const names = (count: number) => Array.from({ length: count }, (_, index) => index);
    await expectLinear(
      1_000,
      (count) =>
        `<a ${names(count)
          .map((n) => `b${n}="" `)
          .join("")}/>`,
      xml,
    );
    await expectLinear(
      250,
      (count) =>
        `<a ${names(count)
          .map((n) => `xmlns:n${n}="u" `)
          .join("")}>${"<b/>".repeat(count)}</a>`,
      xml,
    );
    await expectLinear(
      250,
      (count) =>
        `${names(count)
          .map((n) => `<b xmlns:n${n}="u">`)
          .join("")}${"</b>".repeat(count)}`,
      xml,
    );
  });

  it("is bounded for a template, whatever name it meets", async () => {
    for (const template of ["*a".repeat(127), "**a".repeat(85), "*".repeat(255), "?".repeat(255)]) {
      const match = () => matchesTemplate(template, "a".repeat(255));
      expect(await leastOf(3, () => processorMs(match)), template).to.be.lessThan(50);
    }
  });
});
