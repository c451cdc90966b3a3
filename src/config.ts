import path from "node:path";
import { z } from "zod";

import { Alias } from "./events/core/ids.ts";
import { parseBlobUrl } from "./platform/blob/url.ts";
import { eventStoreUrlProblem } from "./platform/event-store/url.ts";
import { looksLikeToken } from "./platform/key/token.ts";
import { parseOutboundAllow } from "./platform/outbound/address.ts";
import { withoutTrailing } from "./platform/trim.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** One variable each; its message follows the variable's name. */
const text = z.string().trim();
const integer = (min: number, max: number) =>
  text
    .regex(/^\d{1,15}$/, "must be a whole number")
    .transform(Number)
    .refine((value) => value >= min && value <= max, `must be from ${min} to ${max}`);

const urlOf = (...schemes: readonly string[]) =>
  text.refine(
    (value) => URL.canParse(value) && schemes.includes(new URL(value).protocol.slice(0, -1)),
    `must be an address that starts with ${schemes.map((scheme) => `${scheme}://`).join(" or ")}`,
  );

/** As many characters as 24 random bytes have in base64: nothing a person would make up. */
const secretKeyCharactersMin = 32;

const blobBytesMax = 1024 * 1024 * 1024;
/** S3 takes no larger object. */
const uploadBytesMax = 5 * 1024 ** 4;

const variables = z.object({
  HOST: text.default("127.0.0.1"),
  PORT: integer(0, 65_535).default(8080),
  PUBLIC_URL: urlOf("http", "https")
    .refine((value) => URL.canParse(value) && !/[?#]/.test(value), "must not have ? or #")
    .transform((value) => withoutTrailing(value, "/"))
    .optional(),
  SSH_HOST: text.optional(),
  SSH_PORT: integer(0, 65_535).default(2222),
  PUBLIC_SSH_PORT: integer(1, 65_535).optional(),
  PUBLIC_SSH_HOST: text
    .regex(/^(?:[\w.-]+|\[[0-9A-Fa-f:]+\])$/, "must be the name of a machine, without a port")
    .optional(),
  DATA_DIR: text.default("./data"),
  DATABASE_URL: urlOf("postgres", "postgresql").optional(),
  EVENTSTORE_URL: text.superRefine(checkEventStoreUrl).optional(),
  REDIS_URL: urlOf("redis", "rediss").optional(),
  BLOB_URL: text.superRefine(checkBlobUrl).optional(),
  SECRET_KEY: text
    .min(secretKeyCharactersMin, `must have ${secretKeyCharactersMin} characters or more`)
    .optional(),
  ADMIN_ALIAS: text
    .refine((value) => Alias.safeParse(value).success, "must be an alias of 2 to 64 characters")
    .default("admin"),
  ADMIN_EMAIL: text
    .max(80, "must have 80 characters or fewer")
    .regex(/^[^\s@]+@[^\s@]+$/, "must be an e-mail address")
    .default("admin@localhost"),
  ADMIN_PASSWORD: z
    .string()
    .min(8, "must have 8 characters or more")
    .max(128, "must have 128 characters or fewer")
    .refine((value) => !looksLikeToken(value), "must not begin like a token, such as lfat_")
    .optional(),
  OUTBOUND_ALLOW: text
    .transform((value) => value.split(/[\s,]+/).filter((entry) => entry !== ""))
    .refine(isOutboundAllow, "must list address ranges or host:port, separated by commas")
    .default([]),
  LDAP_ALLOW: text
    .transform((value) => value.split(/[\s,]+/).filter((entry) => entry !== ""))
    .refine(isOutboundAllow, "must list address ranges or host:port, separated by commas")
    .optional(),
  SMTP_URL: urlOf("smtp", "smtps").optional(),
  MAIL_FROM: text
    .max(320, "must have 320 characters or fewer")
    .regex(
      /^(?:[^<>\r\n]*<[^\s<>@]+@[^\s<>@]+>|[^\s<>@]+@[^\s<>@]+)$/,
      "must be an e-mail address, or a name and an address in <>",
    )
    .optional(),
  LOG_LEVEL: z.enum(["trace", "debug", "info", "warn", "error", "fatal", "silent"]).default("info"),
  EVENT_LOOP_STALL_SECONDS: integer(0, 3_600).default(10),
  MAX_PROJECT_BYTES: integer(0, Number.MAX_SAFE_INTEGER)
    .transform((bytes) => (bytes === 0 ? null : bytes))
    .default(null),
  MAX_USER_BYTES: integer(0, Number.MAX_SAFE_INTEGER).optional(),
  PACK_CACHE_BYTES: integer(0, Number.MAX_SAFE_INTEGER).default(2 * 1024 ** 3),
  PROJECT_RETENTION_DAYS: integer(0, 36_500).default(30),
  WEBHOOK_LOG_RETENTION_DAYS: integer(1, 36_500).default(30),
  MAX_BLOB_BYTES: integer(1, blobBytesMax).default(15 * 1024 * 1024),
  MAX_RECURSION_DEPTH: integer(0, 1_000).default(10),
  MAX_RELEASE_FILE_BYTES: integer(1, uploadBytesMax).default(2 * 1024 ** 3),
  MAX_PACKAGE_FILE_BYTES: integer(1, uploadBytesMax).default(5 * 1024 ** 3),
  MAX_LFS_OBJECT_BYTES: integer(1, uploadBytesMax).default(5 * 1024 ** 3),
});

/** The names of all variables that are read. */
export const variableNames: readonly string[] = Object.keys(variables.shape);

/** What the environment says, before anything embedded is added. */
export type Settings = Readonly<{
  host: string;
  port: number;
  /** Without a slash at the end; undefined when it follows from host and port. */
  publicUrl: string | undefined;
  sshHost: string;
  sshPort: number;
  /** Undefined when it is the one of `publicUrl`. */
  publicSshHost: string | undefined;
  /** Undefined: SSH takes any free port. */
  publicSshPort: number | undefined;
  /** Absolute. */
  dataDir: string;
  databaseUrl: string | undefined;
  eventStoreUrl: string | undefined;
  redisUrl: string | undefined;
  /** Where large content is kept, when not below `dataDir`. */
  blobUrl: string | undefined;
  secretKey: string | undefined;
  admin: Readonly<{ alias: string; email: string; password: string | undefined }>;
  outboundAllow: readonly string[];
  /** Undefined: private networks and public addresses, at LDAP's own ports. */
  ldapAllow: readonly string[] | undefined;
  /** Undefined: mails wait in the outbox. */
  smtpUrl: string | undefined;
  /** Sender of mails; undefined when it follows from the public address. */
  mailFrom: string | undefined;
  logLevel: z.output<typeof variables>["LOG_LEVEL"];
  /** A process whose event loop stands still for so long is killed; 0: none is. */
  eventLoopStallSeconds: number;
  blobBytesMax: number;
  recursionDepthMax: number;
  releaseFileBytesMax: number;
  packageFileBytesMax: number;
  lfsObjectBytesMax: number;
  /** Of a project's repository; null: no limit. */
  projectBytesMax: number | null;
  /** Of what a person brings into projects of others; as much as a project may take, unless it is set. */
  userBytesMax: number | null;
  /** Of packs that are kept for repeated requests; 0: none is. */
  packCacheBytesMax: number;
  /** So long a deleted project can be restored. */
  projectRetentionDays: number;
  /** So long deliveries of webhooks are shown after they ended. */
  webhookLogRetentionDays: number;
}>;

/** What a role needs: every store has an address. */
export type Config = Settings &
  Readonly<{ publicUrl: string; databaseUrl: string; eventStoreUrl: string; secretKey: string }>;

/** The operator's mistake: shown as it is, without a stack. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

/**
 * Reads the environment. An empty variable counts as unset, as compose files write them.
 *
 * @throws ConfigError naming every bad variable and what is wrong with it, but not its value.
 */
export function readSettings(environment: Environment = process.env): Settings {
  const set = Object.entries(environment).filter(([, value]) => value?.trim() !== "");
  const parsed = variables.safeParse(Object.fromEntries(set));
  if (!parsed.success) {
    const lines = parsed.error.issues.map((issue) => `  ${issue.path.join(".")} ${issue.message}`);
    throw new ConfigError(`Bad configuration:\n${lines.join("\n")}`);
  }
  const { data } = parsed;
  return {
    host: data.HOST,
    port: data.PORT,
    publicUrl: data.PUBLIC_URL,
    sshHost: data.SSH_HOST ?? data.HOST,
    sshPort: data.SSH_PORT,
    publicSshHost: data.PUBLIC_SSH_HOST,
    publicSshPort: data.PUBLIC_SSH_PORT ?? (data.SSH_PORT || undefined),
    dataDir: path.resolve(data.DATA_DIR),
    databaseUrl: data.DATABASE_URL,
    eventStoreUrl: data.EVENTSTORE_URL,
    redisUrl: data.REDIS_URL,
    blobUrl: data.BLOB_URL,
    secretKey: data.SECRET_KEY,
    admin: { alias: data.ADMIN_ALIAS, email: data.ADMIN_EMAIL, password: data.ADMIN_PASSWORD },
    outboundAllow: data.OUTBOUND_ALLOW,
    ldapAllow: data.LDAP_ALLOW,
    smtpUrl: data.SMTP_URL,
    mailFrom: data.MAIL_FROM,
    logLevel: data.LOG_LEVEL,
    eventLoopStallSeconds: data.EVENT_LOOP_STALL_SECONDS,
    blobBytesMax: data.MAX_BLOB_BYTES,
    recursionDepthMax: data.MAX_RECURSION_DEPTH,
    releaseFileBytesMax: data.MAX_RELEASE_FILE_BYTES,
    packageFileBytesMax: data.MAX_PACKAGE_FILE_BYTES,
    lfsObjectBytesMax: data.MAX_LFS_OBJECT_BYTES,
    projectBytesMax: data.MAX_PROJECT_BYTES,
    userBytesMax:
      data.MAX_USER_BYTES === undefined ? data.MAX_PROJECT_BYTES : data.MAX_USER_BYTES || null,
    packCacheBytesMax: data.PACK_CACHE_BYTES,
    projectRetentionDays: data.PROJECT_RETENTION_DAYS,
    webhookLogRetentionDays: data.WEBHOOK_LOG_RETENTION_DAYS,
  };
}

/** @throws ConfigError naming every store that has no address yet. */
export function requireStores(settings: Settings): Config {
  const { databaseUrl, eventStoreUrl, secretKey } = settings;
  if (databaseUrl === undefined || eventStoreUrl === undefined || secretKey === undefined) {
    const missing = {
      DATABASE_URL: databaseUrl,
      EVENTSTORE_URL: eventStoreUrl,
      SECRET_KEY: secretKey,
    };
    const lines = Object.entries(missing)
      .filter(([, value]) => value === undefined)
      .map(([name]) => `  ${name} is required`);
    throw new ConfigError(`Bad configuration:\n${lines.join("\n")}`);
  }
  const publicUrl = settings.publicUrl ?? reachableUrl(settings);
  return { ...settings, publicUrl, databaseUrl, eventStoreUrl, secretKey };
}

/** Threads of Node.js that read files, resolve names and hash passwords; it reads the variable as it starts. */
export function threadCount({ UV_THREADPOOL_SIZE }: Environment = process.env): number {
  const count = Number(UV_THREADPOOL_SIZE);
  return Number.isInteger(count) && count > 0 ? count : 4;
}

/** For programs we start, which bring variables of their own. */
export function inheritedEnvironment(): Environment {
  return { ...process.env };
}

/** Who listens on every address is reached by the name of this machine for itself. */
function reachableUrl({ host, port }: Settings): string {
  if (host === "0.0.0.0" || host === "::") return `http://localhost:${port}`;
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}

function isOutboundAllow(entries: readonly string[]): boolean {
  try {
    parseOutboundAllow(entries);
    return true;
  } catch {
    return false;
  }
}

function checkEventStoreUrl(value: string, { addIssue }: z.core.$RefinementCtx<string>): void {
  const message = eventStoreUrlProblem(value);
  if (message !== undefined) addIssue({ code: "custom", message });
}

function checkBlobUrl(value: string, { addIssue }: z.core.$RefinementCtx<string>): void {
  try {
    parseBlobUrl(value);
  } catch (error) {
    addIssue({ code: "custom", message: error instanceof Error ? error.message : String(error) });
  }
}
