import pino, { type Logger } from "pino";

/** Fields that hold secrets wherever they turn up, in case an object that has them is logged. */
const secretNames = [
  ...["authorization", "cookie", "set-cookie", "password", "secret", "secretKey", "token"],
  ...["databaseUrl", "redisUrl", "eventStoreUrl", "connectionString"],
];

/**
 * On the finished line: at any depth, and a seventh of what replacing by paths costs. A value is a
 * text or a flat list of texts, as of headers.
 */
const secretFields = new RegExp(
  `"(${secretNames.join("|")})":(?:"(?:[^"\\\\]|\\\\.)*"|\\[[^\\]]*\\])`,
  "gi",
);

/** Passwords in addresses, which errors of database clients like to quote. */
const credentials = /\b([a-z][a-z0-9+.-]*:\/\/[^\s:/@]*):[^\s@/]+@/gi;

type Sink = Readonly<{ write: (line: string) => void }>;

/**
 * Structured logs: JSON, one line an event, times in ISO 8601. Known secret fields are replaced.
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
    { write: (line: string) => sink.write(withoutSecrets(line)) },
  );
}

function withoutSecrets(line: string): string {
  return line.replace(secretFields, '"$1":"[secret]"').replace(credentials, "$1:[secret]@");
}
