import { testS3 } from "../../support/client/s3.ts";
import { blobChecks } from "../../support/store/blob-checks.ts";

const s3 = await testS3();
/** More than one request of S3 takes. */
const largeBytes = 40 * 1024 ** 2;
await blobChecks([
  { kind: "a directory", blobUrl: undefined, largeBytes },
  { kind: "S3", blobUrl: s3.urlOf("some/prefix"), largeBytes },
  { kind: "S3 without a prefix", blobUrl: s3.urlOf(""), largeBytes },
]);
