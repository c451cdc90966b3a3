import type { ClientRequest, IncomingMessage } from "node:http";

import { currentCaller } from "../caller.ts";

/** Pieces of a body that are passed on as they come: most bodies have fewer. */
const piecesMax = 64;
const smallBytesMax = 1_024;
/** Answers of 1xx before the one that counts: a server sends one or two. */
const interimAnswersMax = 32;
/** What comes of a connection at once. */
const batchBytesMax = 64 * 1024;

/** What waits for a turn of the event loop, by caller; the caller that is first has the next one. */
const turns = new Map<string, (() => void)[]>();
let isDue = false;

function nextTurn(): void {
  isDue = false;
  const [next] = turns;
  if (next === undefined) return;
  const [caller, waiting] = next;
  const run = waiting.shift();
  turns.delete(caller);
  // Behind the other callers.
  if (waiting.length > 0) turns.set(caller, waiting);
  run?.();
  beDue();
}

function beDue(): void {
  if (isDue || turns.size === 0) return;
  isDue = true;
  setImmediate(nextTurn);
}

/**
 * Runs once in a turn of the event loop in which nothing else of a connection with small pieces is read. Callers take
 * turns, however many connections each of them has.
 */
export function waitTurn(caller: string, run: () => void): void {
  const waiting = turns.get(caller) ?? [];
  waiting.push(run);
  turns.set(caller, waiting);
  beDue();
}

/**
 * Joins the small pieces of a body, and reads only one such body in a turn of the event loop. A chunk of one byte
 * takes six bytes of a connection, but time and memory like a large one wherever it is passed on: one body of
 * 1 MiB in such chunks would keep the event loop for seconds and take 140 MiB of memory.
 *
 * @param callerOf on whose behalf it is read, as far as it is known when a piece has come
 */
export function joinSmallPieces(message: IncomingMessage, callerOf: () => string): void {
  const push = message.push.bind(message);
  let pieces = 0;
  let batch: Buffer | undefined;
  let length = 0;
  const passOn = (): void => {
    if (batch === undefined) return;
    const joined = batch.subarray(0, length);
    batch = undefined;
    length = 0;
    push(joined);
  };
  message.push = (piece: Buffer | null, encoding?: BufferEncoding): boolean => {
    pieces += 1;
    const isSmall = piece !== null && piece.length < smallBytesMax;
    if (!isSmall || (pieces <= piecesMax && batch === undefined)) {
      passOn();
      return push(piece, encoding);
    }
    if (length + piece.length > batchBytesMax) passOn();
    if (batch === undefined) {
      batch = Buffer.allocUnsafe(batchBytesMax);
      waitTurn(callerOf(), passOn);
    }
    length += piece.copy(batch, length);
    // Nothing more is read of the connection until its turn.
    return false;
  };
}

/** The same for the answer to a request of ours, before which no flood of 1xx answers is read. */
export function joinSmallAnswer(request: ClientRequest): void {
  let interimAnswers = 0;
  request.on("information", () => {
    interimAnswers += 1;
    if (interimAnswers <= interimAnswersMax) return;
    request.destroy(new Error(`More than ${interimAnswersMax} answers of 1xx came.`));
  });
  const caller = currentCaller() ?? "";
  request.once("response", (response) => joinSmallPieces(response, () => caller));
}
