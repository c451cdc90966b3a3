import { BlobMissing } from "../../platform/blob/store.ts";

/**
 * Opens what something refers to. Between the read of the reference and the opening another content may take
 * its place, or nothing, and the old one be collected: the reference is then read again.
 *
 * @param find the reference as it is now; throws when there is none
 * @param open of the content it names
 * @throws BlobMissing when it still names what is not there: that is lost
 */
export async function openReferred<Row, Opened>(
  find: () => Promise<Row>,
  open: (row: Row) => Promise<Opened>,
  digestOf: (row: Row) => string,
): Promise<Opened> {
  let row = await find();
  for (;;) {
    try {
      return await open(row);
    } catch (error) {
      if (!(error instanceof BlobMissing)) throw error;
      row = await find();
      if (digestOf(row) === error.digest) throw error;
    }
  }
}
