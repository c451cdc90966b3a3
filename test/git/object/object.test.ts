import { expect } from "chai";

import { parseCommit, parseTag, parseTree, subjectOf } from "../../../src/git/object/object.ts";
import { leastOf, processorMs } from "../../support/app/measure.ts";

const tree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
const person = "Anna <anna@example.test> 1700000000 +0130";

const commitText = (lines: readonly string[], message: string): Buffer =>
  Buffer.from(`${lines.join("\n")}\n\n${message}`);

describe("a commit object", () => {
  it("gives its tree, parents, people, message and signature", () => {
    const data = commitText(
      [
        `tree ${tree}`,
        `parent ${"1".repeat(40)}`,
        `parent ${"2".repeat(40)}`,
        `author ${person}`,
        `committer ${person}`,
        "gpgsig -----BEGIN SSH SIGNATURE-----",
        " abc",
        " -----END SSH SIGNATURE-----",
      ],
      "Subject\n\nBody\n",
    );
    const identity = {
      name: "Anna",
      email: "anna@example.test",
      when: new Date(1_700_000_000_000),
      zone: "+0130",
    };

    expect(parseCommit("id", data)).to.deep.equal({
      id: "id",
      treeId: tree,
      parentIds: ["1".repeat(40), "2".repeat(40)],
      author: identity,
      committer: identity,
      message: "Subject\n\nBody\n",
      isWhole: true,
      signature: "-----BEGIN SSH SIGNATURE-----\nabc\n-----END SSH SIGNATURE-----",
    });
  });

  it("reads a message in the encoding it names, and as UTF-8 when nobody knows that encoding", () => {
    const lines = [`tree ${tree}`, `author ${person}`, `committer ${person}`];
    const latin = Buffer.concat([
      commitText([...lines, "encoding ISO-8859-1"], ""),
      Buffer.from([0xfc]),
    ]);

    expect(parseCommit("id", latin).message).to.equal("ü");
    expect(parseCommit("id", commitText([...lines, "encoding x-unknown"], "ü")).message).to.equal(
      "ü",
    );
  });

  for (const [text, name, email, seconds] of [
    ["A U Thor <a@b> 0 +0000", "A U Thor", "a@b", 0],
    ["<> 12 +0000", "", "", 12],
    ["No Mail", "No Mail", "", 0],
    ["Far <f@f> 99999999999999999 +0000", "Far", "f@f", 253_402_300_799],
    ["Year 30000 <f@f> 884541600000 +0000", "Year 30000", "f@f", 253_402_300_799],
    ["Before <f@f> -99999999999999999 +0000", "Before", "f@f", -62_167_219_200],
  ] as const) {
    it(`reads the person ${JSON.stringify(text)} of an odd history`, () => {
      const data = commitText([`tree ${tree}`, `author ${text}`, `committer ${text}`], "x");
      expect(parseCommit("id", data).author).to.deep.include({
        name,
        email,
        when: new Date(seconds * 1000),
      });
    });
  }
});

describe("a commit that was not made to be read", () => {
  const lines = [`tree ${tree}`, `author ${person}`, `committer ${person}`];
  const kibibytes = (count: number): string => "a".repeat(count * 1024);

  it("is known by the beginning of its message, cut between two characters", () => {
    const { message, isWhole } = parseCommit("id", commitText(lines, `a${"ü".repeat(40_000)}`));
    expect(isWhole).to.equal(false);
    expect(message)
      .to.match(/^aü+$/)
      .and.to.have.length(32 * 1024);
    expect(parseCommit("id", commitText(lines, kibibytes(64)))).to.include({ isWhole: true });
  });

  it("is known by the beginnings of its people and its signature", () => {
    const long = `author ${kibibytes(8)} <a@b> 1 +0000`;
    const signature = `gpgsig ${"x\n ".repeat(400_000)}`;
    const data = commitText([lines[0]!, long, lines[2]!, signature, "encoding x"], "m");
    const commit = parseCommit("id", data);
    expect(commit.author.name).to.have.length(4 * 1024);
    expect(commit.committer.name).to.equal("Anna");
    expect(commit.signature?.length).to.be.within(60 * 1024, 64 * 1024);
  });

  it("has a thousand parents at most, and people in spite of them", () => {
    const parents = Array.from({ length: 5_000 }, () => `parent ${"1".repeat(40)}`);
    const commit = parseCommit("id", commitText([lines[0]!, ...parents, ...lines.slice(1)], "m"));
    expect(commit.parentIds).to.have.length(1_000);
    expect(commit.author.name).to.equal("Anna");
  });
});

describe("a tag object", () => {
  it("gives its target and its message without the signature", () => {
    const data = commitText(
      [`object ${"1".repeat(40)}`, "type commit", "tag v1", `tagger ${person}`],
      "Version 1\n-----BEGIN PGP SIGNATURE-----\nabc\n-----END PGP SIGNATURE-----\n",
    );

    expect(parseTag("id", data)).to.deep.include({
      targetId: "1".repeat(40),
      targetType: "commit",
      name: "v1",
      message: "Version 1\n",
    });
  });

  it("is known by the beginning of a message that was not made to be read", () => {
    const headers = [`object ${"1".repeat(40)}`, "type commit", "tag v1", `tagger ${person}`];
    const { message } = parseTag("id", commitText(headers, "a".repeat(100_000)));
    expect(message).to.have.length(64 * 1024);
  });

  it("may have no tagger", () => {
    const data = commitText([`object ${"1".repeat(40)}`, "type commit", "tag v1"], "x");
    expect(parseTag("id", data).tagger).to.equal(null);
  });
});

describe("a commit whose headers are hundreds of thousands of lines", () => {
  const [header = "", size] = [`tree ${"1".repeat(40)}\n`, 256 * 1024];
  for (const [what, lines] of [
    ["of one header", " \n"],
    ["of parents", `parent x\n${" \n".repeat(120)}`],
    ["that name none", "a\n"],
  ] as const) {
    it(`${what} is read in a moment`, async () => {
      const data = Buffer.from((header + lines.repeat(size / 2)).slice(0, size));
      const read = () => processorMs(() => parseCommit("id", data));
      expect(await leastOf(7, read)).to.be.below(25);
    });
  }
});

describe("a tree object", () => {
  it("distinguishes files, programs, links, directories and submodules", async () => {
    const modes = ["100644", "100755", "120000", "40000", "160000"];
    const data = Buffer.concat(
      modes.map((mode, index) =>
        Buffer.concat([Buffer.from(`${mode} n${index}\0`), Buffer.alloc(20, index)]),
      ),
    );

    expect((await parseTree(data, 20)).map(({ name, kind }) => `${name} ${kind}`)).to.deep.equal([
      "n0 file",
      "n1 executable",
      "n2 symlink",
      "n3 directory",
      "n4 submodule",
    ]);
    expect((await parseTree(data, 20))[1]?.id).to.equal("01".repeat(20));
  });

  it("that ends in the middle of an entry is an error", async () => {
    const data = Buffer.concat([Buffer.from("100644 a\0"), Buffer.alloc(19)]);
    await expect(parseTree(data, 20)).to.be.rejectedWith("Malformed tree");
  });
});

describe("the subject of a message", () => {
  for (const [message, subject] of [
    ["One\n\nTwo", "One"],
    ["One\ntwo\n\nThree", "One two"],
    ["\n\nOne", "One"],
    [" \n\t\n  One \n  two", "One two"],
    ["One\r\ntwo\r\n\r\nThree\r\n", "One two"],
    ["One\n \t\nTwo", "One"],
    ["", ""],
  ] as const) {
    it(`of ${JSON.stringify(message)} is ${JSON.stringify(subject)}`, () => {
      expect(subjectOf(message)).to.equal(subject);
    });
  }
});
