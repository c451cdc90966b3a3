/** The limits of a service that was not told any. */
export const limits = {
  blobBytesMax: 15 * 1024 * 1024,
  recursionDepthMax: 10,
  releaseFileBytesMax: 8 * 1024 ** 2,
  packageFileBytesMax: 8 * 1024 ** 2,
  lfsObjectBytesMax: 256 * 1024 ** 2,
  projectBytesMax: null,
  projectRetentionDays: 30,
  webhookLogRetentionDays: 30,
} as const;
