import { AsyncLocalStorage, createHook } from "node:async_hooks";
import type { EventEmitter } from "node:events";

import { Refusal } from "../refusal.ts";
import type { OperationMemory, Running } from "./operation-memory.ts";
import { suspendedForMs } from "./suspension.ts";

/** Both become known while it runs: a request has its caller once it is authenticated. */
type Operation = { name: string; caller: string; isOver: () => boolean };

const operations = new AsyncLocalStorage<Operation>();
const boundTo = new WeakMap<EventEmitter, Operation>();
let memory: OperationMemory | undefined;
let shown: Operation | undefined;

/** A connection that is shared keeps the operation that opened it, which has ended long ago. */
function current(): Operation | undefined {
  const operation = operations.getStore();
  return operation?.isOver() === true ? undefined : operation;
}

function show(operation: Operation | undefined): void {
  shown = operation;
  memory?.show(operation);
}

/** Called whenever the loop resumes something, so it is all that this costs. */
const hook = createHook({
  before() {
    const operation = current();
    if (operation !== shown) show(operation);
  },
});

/** From now on the operation that the loop runs stands in this memory; undefined: in none. */
export function showOperationsIn(place: OperationMemory | undefined): void {
  memory = place;
  if (place === undefined) hook.disable();
  else hook.enable();
}

/** Code that a watched process runs by itself. */
export const isOutsideOperations = (): boolean => memory !== undefined && current() === undefined;

/** Runs something as an operation, with everything that follows from it asynchronously. */
export async function asOperation<Result>(
  { name, caller }: Running,
  run: () => Promise<Result>,
): Promise<Result> {
  let over = false;
  try {
    return await within({ name, caller, isOver: () => over }, run);
  } finally {
    over = true;
  }
}

export type Bound = Running &
  Readonly<{
    /** Its events come outside of what listens to them, such as parts of a body. */
    emitter: EventEmitter;
    isOver: () => boolean;
  }>;

/** The same for an operation that goes on with what an emitter emits. */
export function bindOperation({ name, caller, emitter, isOver }: Bound, run: () => void): void {
  const operation = { name, caller, isOver };
  boundTo.set(emitter, operation);
  const emit = emitter.emit.bind(emitter);
  emitter.emit = (...event) => within(operation, () => emit(...event));
  within(operation, run);
}

/** Of the operation that goes on with what an emitter emits, as far as it is known by now. */
export const boundCaller = (emitter: EventEmitter): string | undefined =>
  boundTo.get(emitter)?.caller;

function within<Result>(operation: Operation, run: () => Result): Result {
  const outer = shown;
  return operations.run(operation, () => {
    show(current());
    try {
      return run();
    } finally {
      show(outer);
    }
  });
}

/** More is known of the present operation. @throws Refusal `operation.suspended` (503) */
export function completeOperation(details: Partial<Running>): void {
  const operation = current();
  if (operation === undefined) return;
  operation.name = details.name ?? operation.name;
  operation.caller = details.caller ?? operation.caller;
  if (operation === shown) show(operation);
  mustNotBeSuspended(operation);
}

/** Whether it was running at two kills of its process, the last of them a short while ago. */
export const isSuspended = (operation: Running): boolean =>
  suspendedForMs(operation, Date.now()) > 0;

/**
 * An operation that was running at two kills of its process is refused for a while.
 *
 * @throws Refusal `operation.suspended` (503)
 */
export function mustNotBeSuspended(operation: Running | undefined = current()): void {
  const ms = operation === undefined ? 0 : suspendedForMs(operation, Date.now());
  if (ms <= 0) return;
  const seconds = Math.ceil(ms / 1000);
  const message =
    "This operation has stopped the service twice on your behalf and is suspended for you. " +
    `Try again in ${seconds} seconds, with other data.`;
  throw new Refusal("unavailable", "operation.suspended", message, { retryAfterSeconds: seconds });
}
