import { once } from "node:events";
import type { AddressInfo, Server } from "node:net";
import PostalMime, { type Email } from "postal-mime";
import { SMTPServer } from "smtp-server";

import { eventually } from "./eventually.ts";

export type Mail = Email & Readonly<{ raw: string; recipients: readonly string[] }>;

/** A real SMTP server on a free loopback port that keeps what it takes; closed after the calling file. */
export async function startMailbox() {
  const mails: Mail[] = [];
  let refusal: number | undefined;
  let refused = 0;
  const smtp = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    logger: false,
    // The service keeps its connection for the next mail; the file does not wait for that to end.
    closeTimeout: 1,
    onRcptTo(_address, _session, done) {
      if (refusal === undefined) return done();
      refused += 1;
      done(Object.assign(new Error("not now"), { responseCode: refusal }));
    },
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", async () => {
        const raw = Buffer.concat(chunks);
        const recipients = session.envelope.rcptTo.map(({ address }) => address);
        mails.push({ ...(await PostalMime.parse(raw)), raw: raw.toString("latin1"), recipients });
        done();
      });
    },
  });
  smtp.on("error", () => undefined);
  const server = smtp.listen(0, "127.0.0.1") as unknown as Server;
  await once(server, "listening");
  after(() => new Promise<void>((resolve) => smtp.close(() => resolve())));
  const { port } = server.address() as AddressInfo;

  const to = (address: string) => mails.filter(({ recipients }) => recipients.includes(address));
  return {
    url: `smtp://127.0.0.1:${port}`,
    mails,
    to,
    /** How recipients are answered from now on: a code of RFC 5321, or accepted. */
    refuse(code: number | undefined) {
      refusal = code;
    },
    /** How many recipients were refused so far. */
    refused: () => refused,
    /** The token in the link of the newest mail to the address, of a path that holds this. */
    linkTo: (address: string, path: string): Promise<string> =>
      eventually(() => {
        const texts = to(address).map(({ text = "" }) => text);
        const found = texts.filter((text) => text.includes(path)).at(-1);
        return /\?token=(\S+)/.exec(found ?? "")?.[1] ?? "";
      }, 60_000),
  };
}
