import pino, { type Logger } from "pino";

import { clipText } from "./storable-text.ts";

/** Fields that hold secrets wherever they turn up, in case an object that has them is logged. In lower case. */
const secretNames: ReadonlySet<string> = new Set([
  ...["authorization", "cookie", "set-cookie", "password", "secret", "secretkey", "token"],
  ...["databaseurl", "redisurl", "eventstoreurl", "connectionstring"],
]);
const secretNameLengthMax = Math.max(...[...secretNames].map((name) => name.length));

/** Passwords in addresses, which errors of database clients like to quote; the cut may end one. */
const credentials = /(:\/\/[^\s:/@]*):[^\s@/]+(@|…"$)/g;

/** A longer text is cut: those who send it to the service decide how long it is. */
const textLengthMax = 2_048;

type Sink = Readonly<{ write: (line: string) => void }>;

/**
 * Structured logs: JSON, one line an event, times in ISO 8601. Known secret fields are replaced, long texts cut.
 *
 * @param role written into every line, to distinguish processes.
 */
export function openLog(level: string, role: string, sink: Sink = process.stdout): Logger {
  return pino(
    {
      level,
      base: { role, pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: (line: string) => sink.write(cleaned(line)) },
  );
}

/**
 * The finished line, at any depth: a fraction of what replacing by paths costs. It is read once from its start to
 * its end, and a regular expression reads no text that is not cut yet.
 */
function cleaned(line: string): string {
  let clean = "";
  let done = 0;
  let isSecret = false;
  for (let start = line.indexOf('"'); start >= 0; start = line.indexOf('"', done)) {
    const end = endOfText(line, start);
    if (line.charAt(end) === ":") {
      isSecret = isSecretName(line, start, end);
      clean += line.slice(done, end);
      done = end;
      continue;
    }
    // A flat list of texts, as of headers, is one secret.
    const isList = isSecret && line.charAt(start - 1) === "[";
    clean += line.slice(done, isList ? start - 1 : start);
    clean += isSecret ? '"[secret]"' : cleanText(line.slice(start, end));
    done = isList ? endOfList(line, end) : end;
    isSecret = false;
  }
  return clean + line.slice(done);
}

/** @param start of the quote that opens it; @returns what follows the one that closes it */
function endOfText(line: string, start: number): number {
  for (let quote = line.indexOf('"', start + 1); quote >= 0; quote = line.indexOf('"', quote + 1)) {
    let escapes = quote;
    while (line.charAt(escapes - 1) === "\\") escapes -= 1;
    if ((quote - escapes) % 2 === 0) return quote + 1;
  }
  return line.length;
}

function endOfList(line: string, from: number): number {
  let at = from;
  while (at < line.length && line.charAt(at) !== "]") {
    at = line.charAt(at) === '"' ? endOfText(line, at) : at + 1;
  }
  return at + 1;
}

function isSecretName(line: string, start: number, end: number): boolean {
  if (end - start - 2 > secretNameLengthMax) return false;
  return secretNames.has(line.slice(start + 1, end - 1).toLowerCase());
}

/** @param json a text in its quotes */
function cleanText(json: string): string {
  const short = json.length > textLengthMax ? shortened(json) : json;
  return short.includes("://") ? short.replace(credentials, "$1:[secret]$2") : short;
}

function shortened(json: string): string {
  const text = JSON.parse(json) as string;
  return text.length > textLengthMax ? JSON.stringify(`${clipText(text, textLengthMax)}…`) : json;
}
