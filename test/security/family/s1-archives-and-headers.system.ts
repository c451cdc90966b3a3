import { EventEmitter } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { expect } from "chai";
import Koa from "koa";

import { pageCookies } from "../../../src/http/page/core/cookie.ts";
import { walkTar } from "../../../src/package/core/tar-walk.ts";
import { readTarEntry } from "../../../src/package/core/tarball.ts";
import { readZipEntry } from "../../../src/package/core/zip.ts";
import { walkZip } from "../../../src/package/core/zip-walk.ts";
import { expectLinear } from "../../support/app/growth.ts";
import { type ArchiveFile, filesOf, tar, tgz, zip } from "../../support/git/archive.ts";

/** Archives and cookies are read in a time that grows with their length, and no faster. */

const fileOf = await filesOf();
const wanted = { path: /^(?:[^/]+\/)?note\.txt$/, name: "note.txt" };
const walk = { entriesMax: 100_000, bytesMax: 1024 ** 3 };
const small = (count: number, name: (index: number) => string): readonly ArchiveFile[] =>
  Array.from({ length: count }, (_, index) => [name(index), "x"] as const);

/** What makes an archive large without making its bytes many. */
const shapes: Readonly<Record<string, (count: number) => readonly ArchiveFile[]>> = {
  "many files": (count) => small(count, (index) => `d/${index}.txt`),
  "many directories in each other": (count) => [[`${"d/".repeat(count / 10)}note.txt`, "x"]],
  "many names that differ at their ends": (count) =>
    small(count, (index) => `${"a".repeat(80)}${index}`),
};

describe("reading an archive", () => {
  // Code is loaded and compiled at the first reading; that time is left out.
  before(async () => {
    for (let turn = 0; turn < 20; turn += 1) {
      const files = small(100, (index) => `${index}.txt`);
      await readZipEntry(await fileOf(zip(files)), wanted).catch(() => undefined);
      await readTarEntry(await fileOf(tgz(files)), wanted).catch(() => undefined);
    }
  });

  for (const [what, files] of Object.entries(shapes)) {
    it(`takes time in proportion to ${what} of a zip`, async () => {
      const prepare = (count: number) => fileOf(zip(files(count)));
      await expectLinear(250, prepare, async (file) => readZipEntry(await file, wanted));
      await expectLinear(250, prepare, async (file) =>
        walkZip(await file, { ...walk, entry: () => false }),
      );
    });

    // A name in ustar's header is short.
    if (what.includes("each other")) continue;
    it(`takes time in proportion to ${what} of a tar archive`, async () => {
      const plain = (count: number) => fileOf(tar(files(count)));
      const packed = (count: number) => fileOf(tgz(files(count)));
      await expectLinear(250, packed, async (file) => readTarEntry(await file, wanted));
      await expectLinear(250, plain, async (file) =>
        walkTar(await file, { compression: "none", entry: () => undefined }),
      );
    });
  }
});

describe("reading a cookie", () => {
  const { read } = pageCookies("https://forge.example.org");
  const koa = new Koa();

  function readFrom(cookie: string): string | undefined {
    const req = Object.assign(new EventEmitter(), { headers: { cookie }, socket: {} });
    const res = new EventEmitter();
    const context = koa.createContext(
      req as unknown as IncomingMessage,
      res as unknown as ServerResponse,
    );
    return read(context, "session");
  }

  it("finds the one of the session among others", () => {
    expect(readFrom("a=b; __Host-ledgerforge-session=x; c=d")).to.equal("x");
  });

  for (const piece of [
    "a=b; ",
    ";",
    " ",
    "=",
    "a",
    "__Host-ledgerforge-session",
    '"',
    "; __Host-",
  ]) {
    it(`takes time in proportion to ${JSON.stringify(piece)} repeated`, async () => {
      // Node.js takes 16 KiB of headers; more is measured because less is over before it is seen.
      const prepare = (bytes: number) => piece.repeat(bytes / piece.length);
      await expectLinear(64 * 1024, prepare, readFrom);
    });
  }
});
