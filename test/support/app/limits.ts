/** The default limits of a service. */
export const limits = {
  blobBytesMax: 15 * 1024 * 1024,
  recursionDepthMax: 10,
  releaseFileBytesMax: 8 * 1024 ** 2,
  packageFileBytesMax: 8 * 1024 ** 2,
  lfsObjectBytesMax: 256 * 1024 ** 2,
  projectBytesMax: null,
  userBytesMax: null,
  projectRetentionDays: 30,
  webhookLogRetentionDays: 30,
} as const;
