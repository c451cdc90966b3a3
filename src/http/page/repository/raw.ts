import { z } from "zod";

import type { StreamReply } from "../../core/answer.ts";
import { isBinary } from "../../core/file/type.ts";
import { besides } from "../common/project-page.ts";
import { type PageRoute, page } from "../core/route.ts";
import { FileQuery, readable } from "./found.ts";

/** What a browser shows by itself and runs nothing of. */
const imageTypes: Readonly<Record<string, string>> = {
  avif: "image/avif",
  bmp: "image/bmp",
  gif: "image/gif",
  ico: "image/x-icon",
  jpeg: "image/jpeg",
  jpg: "image/jpeg",
  png: "image/png",
  webp: "image/webp",
};

const showRaw = page({
  ...readable,
  method: "get",
  path: "/page/project/{ownerAlias}/{projectAlias}/raw",
  operationId: "showRawFile",
  access: "anonymous",
  query: FileQuery,
  async handle({ params, query, visit }) {
    const file = await visit.operations.stream("downloadBlob", { params, query });
    return { stream: shownRaw(file, query.file, visit.header("sec-fetch-dest")) };
  },
});

const downloadFile = page({
  ...readable,
  ...besides,
  path: "/project/{ownerAlias}/{projectAlias}/blob/download",
  operationId: "downloadFile",
  query: FileQuery,
  handle: async ({ params, query, visit }) => ({
    stream: await visit.operations.stream("downloadBlob", { params, query }),
  }),
});

/**
 * Images as images, texts as plain text whatever they are called, all else as a download. An SVG, which
 * may hold scripts, is an image only inside of a page, where browsers run none.
 *
 * @param destination Sec-Fetch-Dest of the request
 */
function shownRaw(file: StreamReply, path: string, destination: string): StreamReply {
  const extension = path.split(".").at(-1)?.toLowerCase() ?? "";
  const { fileName: _, ...open } = file;
  const image = Object.hasOwn(imageTypes, extension) ? imageTypes[extension] : undefined;
  if (image !== undefined) return { ...open, type: image };
  if (extension === "svg" && destination === "image") return { ...open, type: "image/svg+xml" };
  if (Buffer.isBuffer(file.body) && !isBinary(file.body)) {
    return { ...open, type: "text/plain; charset=utf-8" };
  }
  return { ...file, type: "application/octet-stream" };
}

const archivePage = (format: "zip" | "tar.gz", form: "Zip" | "Tar") =>
  page({
    ...besides,
    path: `/project/{ownerAlias}/{projectAlias}/archive/{ref}.${format}`,
    operationId: `download${form}Archive`,
    params: z.object({ ref: FileQuery.shape.commitHash }),
    handle: async ({ params, visit }) => ({
      stream: await visit.operations.stream(`get${form}Archive`, { params }),
    }),
  });

export const rawPages: readonly PageRoute[] = [
  archivePage("tar.gz", "Tar"),
  archivePage("zip", "Zip"),
  downloadFile,
  showRaw,
];
