/** A text to one address. */
export type Message = Readonly<{
  /** The same whenever it is sent again: receivers drop repeats by it. */
  id: string;
  to: string;
  subject: string;
  text: string;
  /** Stops such mails by a POST without login (RFC 8058). */
  unsubscribeUrl?: string | undefined;
}>;

export type Mailer = Readonly<{
  /** @throws MailRefused when the server will never take it; anything else may pass */
  send: (message: Message) => Promise<void>;
  close: () => void;
}>;

export type MailerOptions = Readonly<{
  /** `smtp://user:password@host:port` or `smtps://…`; TLS is used when the server offers it. */
  smtpUrl: string;
  /** An address, or `Name <address>`. */
  from: string;
  /** After the @ of message ids. */
  host: string;
}>;

/** The server said no for good: there is no such mailbox, or it does not take this message. */
export class MailRefused extends Error {
  override readonly name = "MailRefused";
}

const timeoutMs = 15_000;
const connectionsMax = 2;

/** Opens no connection, and loads nothing, before there is something to send. */
export function openMailer({ smtpUrl, from, host }: MailerOptions): Mailer {
  let transport: ReturnType<typeof transportTo> | undefined;
  return {
    async send({ id, to, subject, text, unsubscribeUrl }) {
      transport ??= transportTo(smtpUrl);
      const server = await transport;
      try {
        await server.sendMail({
          from: oneLine(from),
          // As an object: the library does not look for more addresses in it.
          to: { name: "", address: oneLine(to) },
          subject: oneLine(subject),
          text,
          messageId: `<${id}@${host}>`,
          // RFC 3834: no answers from holidays.
          headers: { "Auto-Submitted": "auto-generated", ...unsubscribeHeaders(unsubscribeUrl) },
        });
      } catch (error) {
        if (isRefusal(error)) throw new MailRefused(error.message, { cause: error });
        throw error;
      }
    },
    close: () => {
      // The caller of `send` has received the error of a transport that could not be opened.
      transport?.then((server) => server.close()).catch(() => undefined);
    },
  };
}

function unsubscribeHeaders(url: string | undefined): Readonly<Record<string, string>> {
  if (url === undefined) return {};
  return {
    "List-Unsubscribe": `<${url}>`,
    "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
  };
}

async function transportTo(smtpUrl: string) {
  const { createTransport } = await import("nodemailer");
  return createTransport({
    url: smtpUrl,
    pool: true,
    maxConnections: connectionsMax,
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    // A message is text of ours: nothing in it may name a file or an address to read from.
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}

/** RFC 5321, 4.2.1: 5yz is permanent. What concerns logging in is the operator's to mend. */
function isRefusal(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  const { code, responseCode } = error as { code?: unknown; responseCode?: unknown };
  if (code !== "EENVELOPE" && code !== "EMESSAGE") return false;
  return typeof responseCode === "number" && responseCode >= 500;
}

/** Titles and aliases stand in headers: none of them may begin another one. */
export function oneLine(text: string): string {
  return text
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, " ")
    .trim()
    .slice(0, 500);
}
