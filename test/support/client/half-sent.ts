import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";

type Request = Readonly<{ method: string; url: string; headers: Readonly<Record<string, string>> }>;

/** A request under way whose body has been sent in part. */
export type HalfSent = Readonly<{
  breakOff: () => void;
  /** Sends the rest. @returns the status; undefined when the connection broke */
  finish: () => Promise<number | undefined>;
}>;

/** Sends a request with half of its body. */
export function sendHalf({ method, url, headers }: Request, body: Buffer): HalfSent {
  const half = Math.floor(body.length / 2);
  const outgoing = request(url, {
    method,
    headers: { ...headers, "content-length": body.length },
  });
  outgoing.on("error", () => undefined);
  const answered = once(outgoing, "response").catch(() => []);
  outgoing.write(body.subarray(0, half));
  return {
    breakOff: () => outgoing.destroy(),
    async finish() {
      outgoing.end(body.subarray(half));
      const [response] = (await answered) as [IncomingMessage?];
      response?.resume();
      return response?.statusCode;
    },
  };
}
