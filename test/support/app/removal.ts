/** How a directory is removed that a program may still be ending in: with patience. */
export const removal = { recursive: true, force: true, maxRetries: 20, retryDelay: 100 } as const;
