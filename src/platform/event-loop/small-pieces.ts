import type { ClientRequest, IncomingMessage } from "node:http";

/** Pieces of a body that are passed on as they come: most bodies have fewer. */
const piecesMax = 64;
const smallBytesMax = 1_024;
/** Answers of 1xx before the one that counts: a server sends one or two. */
const interimAnswersMax = 32;
/** What comes of a connection at once. */
const batchBytesMax = 64 * 1024;

/** Of bodies that come in many small pieces, one is read in each turn of the event loop. */
const turns: (() => void)[] = [];

function nextTurn(): void {
  turns.shift()?.();
  if (turns.length > 0) setImmediate(nextTurn);
}

/** Runs once in a turn of the event loop in which nothing else of a connection with small pieces is read. */
export function waitTurn(run: () => void): void {
  if (turns.push(run) === 1) setImmediate(nextTurn);
}

/**
 * Joins the small pieces of a body, and reads only one such body in a turn of the event loop. A chunk of one byte
 * takes six bytes of a connection, but time and memory like a large one wherever it is passed on: one body of
 * 1 MiB in such chunks would keep the event loop for seconds and take 140 MiB of memory.
 */
export function joinSmallPieces(message: IncomingMessage): void {
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
      waitTurn(passOn);
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
  request.once("response", joinSmallPieces);
}
