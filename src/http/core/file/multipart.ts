import { PassThrough, type Readable } from "node:stream";
import { Busboy, type BusboyFileStream, type BusboyInstance } from "@fastify/busboy";

import type { HeldBlob } from "../../../platform/blob/blobs.ts";
import { Refusal } from "../../../platform/refusal.ts";
import { mustBeStorable } from "../../../platform/storable-text.ts";
import type { Incoming } from "../request.ts";
import { invalid } from "../schema.ts";

/** One file of a form, to be read to its end. */
export type FormFile = Readonly<{
  /** Without folders. */
  fileName: string;
  /** As it was sent. */
  path: string;
  content: Readable;
  /** Under which it stands. */
  key: string;
}>;

/** What a file was made of, which is given back when the form as a whole is refused. */
export type TakenFile = Readonly<{ blob: Pick<HeldBlob, "release"> }>;

export type FormFiles<Taken> = Readonly<{
  /** Under which files are expected. */
  key: string;
  /** Whether they are taken under other keys too. */
  anyKey?: boolean;
  /** Whether only the first counts, and others are read over. */
  ignoresFurther?: boolean;
  filesMax: number;
  /** Reads one file as it comes; it is over before the next one begins. */
  take: (file: FormFile, index: number) => Promise<Taken>;
  /** Given: the form has fields beside its files, which may be long, and each is handed over. */
  field?: (name: string, value: string) => void;
}>;

/** Beside files there is nothing to say: more is an attack on memory. */
const limits = {
  fields: 32,
  fieldSize: 4 * 1024,
  fieldNameSize: 256,
  headerPairs: 16,
  headerSize: 8 * 1024,
} as const;

/** For forms with fields: a client of PyPI sends some hundred and a whole README among them. */
const fieldLimits = { ...limits, fields: 1_000, fieldSize: 512 * 1024 } as const;

/**
 * Reads the files of a `multipart/form-data` body (RFC 7578) one after another, no faster than they
 * are taken: all of them, or none.
 *
 * @throws Refusal 400 `body.not_multipart`, `body.cut`; 422 for files under other keys, none, or too
 *   many; what `take` throws
 */
export async function receiveFiles<Taken extends TakenFile>(
  { contentType, body }: Incoming,
  form: FormFiles<Taken>,
): Promise<readonly [Taken, ...Taken[]]> {
  const parser = openParser(contentType, form);
  const takes: Promise<Taken>[] = [];
  const contents: PassThrough[] = [];
  const ended = new Promise<void>((resolve, reject) => {
    const fail = (error: unknown): void => {
      body.unpipe(parser);
      reject(error);
      parser.destroy();
      for (const content of contents) content.destroy(asError(error));
    };
    body.once("error", fail);
    parser.once("error", (error: Error) => fail(asRefusal(error)));
    parser.once("finish", resolve);
    // A part without a name has no key, whatever the parser's types say.
    const onFile = (key: string | undefined, stream: BusboyFileStream, fileName?: string): void => {
      if (form.ignoresFurther === true && takes.length > 0) {
        stream.on("error", () => undefined);
        stream.resume();
        return;
      }
      // The parser's streams are of an old kind, which cannot be destroyed in the middle.
      const content = new PassThrough();
      content.on("error", () => undefined);
      stream.on("error", () => content.destroy(notMultipart("it is malformed or was cut")));
      stream.pipe(content);
      contents.push(content);
      if (key !== form.key && form.anyKey !== true) {
        fail(misplaced(key ?? "", form.key));
        return;
      }
      const taken = form.take({ ...namesOf(fileName), content, key: key ?? "" }, takes.length);
      taken.catch(fail);
      takes.push(taken);
    };
    parser.on("file", onFile);
    parser.on("field", (key: string, value: string) => {
      try {
        mustBeStorable([key, value]);
        if (key === form.key) throw misplaced(key, form.key);
        form.field?.(key, value);
      } catch (error) {
        fail(error);
      }
    });
    parser.once("filesLimit", () => fail(tooMany(form)));
    for (const limit of ["fieldsLimit", "partsLimit"] as const) {
      parser.once(limit, () => fail(notMultipart("it has too many fields")));
    }
    body.pipe(parser);
  });
  const failure = await ended.then(
    () => (takes.length === 0 ? misplaced(form.key, form.key) : undefined),
    (error: unknown) => error ?? new Error("the form was not read"),
  );
  const settled = await Promise.allSettled(takes);
  const taken = settled.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
  const failed = settled.find((one) => one.status === "rejected");
  const [first, ...others] = taken;
  if (failure === undefined && failed === undefined && first !== undefined)
    return [first, ...others];
  await Promise.all(taken.map(({ blob }) => blob.release()));
  throw failure ?? failed?.reason;
}

function openParser(
  contentType: string,
  {
    filesMax,
    field,
    ignoresFurther,
  }: Pick<FormFiles<unknown>, "filesMax" | "field" | "ignoresFurther">,
): BusboyInstance {
  const allowed = field === undefined ? limits : fieldLimits;
  // Other kinds of forms hold no files, and what the parser takes for one is not up to the sender.
  if (!/^multipart\/form-data\s*;/i.test(contentType))
    throw notMultipart("its content type is another one");
  try {
    const files = ignoresFurther === true ? allowed.fields : filesMax;
    const bounds = { ...allowed, files, parts: files + allowed.fields };
    const headers = { "content-type": contentType };
    return new Busboy({ headers, limits: bounds, preservePath: true });
  } catch {
    throw notMultipart("it names no boundary");
  }
}

/** Browsers and curl write a quote as `%22`, and a percent sign as it is; HTML, "multipart form data". */
function namesOf(sent = ""): Pick<FormFile, "fileName" | "path"> {
  const path = sent.replaceAll("%22", '"');
  const fileName = path.slice(Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1);
  return { path, fileName: fileName === "." || fileName === ".." ? "" : fileName };
}

const asError = (error: unknown): Error =>
  error instanceof Error ? error : new Error(String(error));

/** The parser's own errors are all about a form that is malformed or ends too early. */
function asRefusal(error: Error): Error {
  return error instanceof Refusal ? error : notMultipart("it is malformed or was cut");
}

function notMultipart(why: string): Refusal {
  const message = `The body must be multipart/form-data; ${why}.`;
  return new Refusal("bad_request", "body.not_multipart", message);
}

function misplaced(key: string, expected: string): Refusal {
  const message = `Files are expected under the key ${expected}.`;
  return invalid([{ field: key, code: "error.field.file", message }]);
}

function tooMany({ key, filesMax }: Pick<FormFiles<unknown>, "key" | "filesMax">): Refusal {
  const message = `At most ${filesMax} files come at once.`;
  return invalid([{ field: key, code: "error.field.too_large", message }]);
}
