import pino, { type Logger } from "pino";

/** Fields that hold secrets wherever they turn up, should somebody log an object that has them. */
const secretFields = [
  "authorization",
  "cookie",
  "password",
  "secret",
  "secretKey",
  "token",
  "databaseUrl",
  "redisUrl",
  "eventStoreUrl",
  "connectionString",
];

const redacted = secretFields.flatMap((field) => [
  field,
  `*.${field}`,
  `*.*.${field}`,
  `*.*.*.${field}`,
]);

/** Passwords in addresses, which errors of database clients like to quote. */
const credentials = /\b([a-z][a-z0-9+.-]*:\/\/[^\s:/@]*):[^\s@/]+@/gi;

type Sink = Readonly<{ write: (line: string) => void }>;

/**
 * Structured logs: JSON, one line an event, times in ISO 8601. Known secret fields are replaced.
 *
 * @param role written into every line, to tell processes apart.
 */
export function openLog(level: string, role: string, sink: Sink = process.stdout): Logger {
  return pino(
    {
      level,
      base: { role, pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: redacted, censor: "[secret]" },
    },
    { write: (line: string) => sink.write(line.replace(credentials, "$1:[secret]@")) },
  );
}
