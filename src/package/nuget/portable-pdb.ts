import { badFile } from "../core/coordinates.ts";

/** ECMA-335, II.24.2.1: `BSJB`. */
const metadataSignature = 0x424a_5342;
const versionLengthMax = 255;
/** The format has six kinds of them. */
const streamsMax = 16;
const streamNameMax = 32;
const guidBytes = 16;
/** The GUID and a stamp. */
const idBytes = 20;
/** Of a GUID its first three fields are numbers, whose lowest byte is written first. */
const guidOrder = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];

/**
 * The GUID by which a debugger requests a portable PDB, as 32 digits in upper case: Portable PDB v1.0 specification,
 * "#Pdb stream".
 *
 * @param head what the file begins with
 * @throws Refusal 422
 */
export function portablePdbGuid(name: string, head: Buffer): string {
  try {
    const guid = guidIn(head);
    if (guid !== undefined) return guid;
  } catch (error) {
    // Something is said to be behind the end.
    if (!(error instanceof RangeError)) throw error;
  }
  throw badFile(`${name} is no portable PDB.`);
}

function guidIn(head: Buffer): string | undefined {
  const versionLength = head.readUInt32LE(12);
  if (head.readUInt32LE(0) !== metadataSignature || versionLength > versionLengthMax) return;
  let at = 16 + versionLength;
  const streams = head.readUInt16LE(at + 2);
  if (streams > streamsMax) return;
  at += 4;
  for (let stream = 0; stream < streams; stream += 1) {
    const [offset, bytes] = [head.readUInt32LE(at), head.readUInt32LE(at + 4)];
    const name = head.subarray(at + 8, at + 8 + streamNameMax).toString("latin1");
    const length = name.indexOf("\0");
    if (length < 0) return;
    if (name.slice(0, length) === "#Pdb") {
      if (bytes < idBytes || offset + idBytes > head.length) return;
      const guid = head.subarray(offset, offset + guidBytes);
      return Buffer.from(guidOrder.map((byte) => guid[byte] ?? 0))
        .toString("hex")
        .toUpperCase();
    }
    // Names are padded to four bytes, the zero at their end included.
    at += 8 + 4 * Math.ceil((length + 1) / 4);
  }
  return undefined;
}
