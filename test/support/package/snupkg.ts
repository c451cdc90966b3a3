import { zip } from "../git/archive.ts";

/** A portable PDB with this GUID, as compilers write it: its streams in another order than its own. */
export function portablePdb(guid: string, content = ""): Buffer {
  const version = Buffer.from("PDB v1.0\0\0\0\0");
  const streams = [
    { name: "#~", body: Buffer.from("tables".padEnd(24, "\0") + content) },
    { name: "#Pdb", body: Buffer.concat([guidBytes(guid), Buffer.alloc(12, 1)]) },
  ];
  const header = Buffer.alloc(16);
  header.writeUInt32LE(0x424a_5342, 0);
  header.writeUInt16LE(1, 4);
  header.writeUInt16LE(1, 6);
  header.writeUInt32LE(version.length, 12);
  const counts = Buffer.alloc(4);
  counts.writeUInt16LE(streams.length, 2);
  const named = streams.map(({ name }) => padded(`${name}\0`));
  const heads = header.length + version.length + counts.length;
  let offset = heads + named.reduce((sum, { length }) => sum + 8 + length, 0);
  const list = streams.map(({ body }, index) => {
    const place = Buffer.alloc(8);
    place.writeUInt32LE(offset, 0);
    place.writeUInt32LE(body.length, 4);
    offset += body.length;
    return Buffer.concat([place, named[index] ?? Buffer.alloc(0)]);
  });
  return Buffer.concat([header, version, counts, ...list, ...streams.map(({ body }) => body)]);
}

const padded = (text: string): Buffer =>
  Buffer.from(text.padEnd(4 * Math.ceil(text.length / 4), "\0"));

/** As .NET writes a GUID: of its first three numbers the lowest byte first. */
function guidBytes(guid: string): Buffer {
  const plain = Buffer.from(guid, "hex");
  return Buffer.concat([
    plain.subarray(0, 4).reverse(),
    plain.subarray(4, 6).reverse(),
    plain.subarray(6, 8).reverse(),
    plain.subarray(8),
  ]);
}

type Files = readonly (readonly [path: string, content: string | Buffer])[];

/** As `dotnet pack -p:SymbolPackageFormat=snupkg` makes it. */
export const snupkg = (id: string, version: string, files: Files, type = "SymbolsPackage") =>
  zip([
    ["_rels/.rels", "<Relationships/>"],
    ["[Content_Types].xml", "<Types/>"],
    [
      `${id}.nuspec`,
      `<?xml version="1.0" encoding="utf-8"?>
<package xmlns="http://schemas.microsoft.com/packaging/2013/05/nuspec.xsd">
  <metadata><id>${id}</id><version>${version}</version>
    <packageTypes><packageType name="${type}" /></packageTypes></metadata>
</package>`,
    ],
    ...files,
  ]);
