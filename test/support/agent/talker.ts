import { setTimeout as delay } from "node:timers/promises";
import { expect } from "chai";
import type { sender } from "../app/app.ts";
import { eventually } from "../app/eventually.ts";
import { agentTalk } from "./agent-job.ts";

export type Talker = Readonly<{
  /** Waits until so many further pieces of the log were acknowledged. */
  acknowledged: (count: number) => Promise<void>;
  /** Everything that was acknowledged. */
  sent: () => string;
  /** Ends the job with success. */
  end: () => Promise<void>;
}>;

const limitMs = 180_000;
const pauseMs = 10;

/** Takes one job as an agent and writes lines into its log until ended, whatever happens to the service. */
export async function startTalker(
  send: ReturnType<typeof sender>,
  agentToken: string,
): Promise<Talker> {
  const post = (at: string, options: object = {}) => send("POST", at, options);
  const put = (at: string, options: object = {}) => send("PUT", at, options);
  const talk = agentTalk({ send, post, put }, agentToken);
  const job = await eventually(() => talk.begin(), limitMs);
  let sent = "";
  let pieces = 0;
  let isEnding = false;

  async function write(): Promise<void> {
    for (let n = 1; !isEnding; n += 1) {
      const line = `line ${n}\n`;
      // A piece whose acknowledgement was lost is there: then 416 says where the next one begins.
      await eventually(async () => {
        const { status, headers } = await talk.patch(job, sent.length, line);
        const isThere = status === 416 && headers.get("range") === `0-${sent.length + line.length}`;
        if (status !== 202 && !isThere) throw new Error(`The piece was answered ${status}.`);
        return true;
      }, limitMs);
      sent += line;
      pieces += 1;
      await delay(pauseMs);
    }
  }
  const writing = write();
  writing.catch(() => undefined);
  return {
    sent: () => sent,
    async acknowledged(count) {
      const goal = pieces + count;
      await Promise.race([eventually(() => pieces >= goal, limitMs), writing]);
    },
    async end() {
      isEnding = true;
      await writing;
      await eventually(async () => {
        const output = { bytesize: sent.length };
        const { status, headers } = await talk.put(job, { state: "success", output });
        const isOver = status === 403 && headers.get("job-status") === "success";
        expect(status === 200 || isOver, `${status}`).to.equal(true);
        return true;
      }, limitMs);
    },
  };
}
