import { EventEmitter } from "node:events";
import { z } from "zod";

import { route } from "../../../src/http/core/route.ts";
import { Refusal } from "../../../src/platform/refusal.ts";

export const megabytes = (count: number): number => count * 1024 ** 2;
const declared = { tag: "test", scope: "none", access: "user" } as const;

/** Emits `deleted`. */
export const handled = new EventEmitter();
const refused = async (): Promise<never> => {
  throw new Refusal("forbidden", "upload.refused", "No uploads here.");
};
/** Routes that answer before the body was read. */
export const unreadRoutes = [
  route({
    ...declared,
    method: "post",
    path: "/upload",
    operationId: "upload",
    summary: "Refuse before a byte is read",
    upload: "files",
    reply: z.object({}),
    handle: refused,
  }),
  route({
    ...declared,
    method: "post",
    path: "/json",
    operationId: "json",
    summary: "Read at most 1 MiB",
    body: z.object({ text: z.string() }),
    reply: z.object({}),
    handle: async () => ({}),
  }),
  route({
    ...declared,
    method: "delete",
    path: "/nothing",
    operationId: "deleteNothing",
    summary: "Answer without reading a body",
    status: 204,
    reply: "empty",
    handle: async () => void handled.emit("deleted"),
  }),
  route({
    ...declared,
    method: "post",
    path: "/mirrored",
    operationId: "mirrored",
    summary: "Answer the body while it comes",
    upload: "files",
    reply: "stream",
    handle: async ({ request: { incoming } }) => {
      return { body: incoming(megabytes(10)).body, type: "application/octet-stream" };
    },
  }),
];
