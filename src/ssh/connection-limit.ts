import type { Socket } from "node:net";

import { networkOf, peerAddress } from "../platform/network.ts";

export type AdmissionLimits = Readonly<{
  connectionsMax: number;
  /** Of these, how many may be there without having proved who they are. */
  unprovedMax: number;
  unprovedMaxPerNetwork: number;
  /** From the first byte to a proof. */
  proofMs: number;
}>;

const admissionLimitsDefault: AdmissionLimits = {
  connectionsMax: 512,
  unprovedMax: 100,
  unprovedMaxPerNetwork: 25,
  proofMs: 30_000,
};

/** A connection that was let in. */
export type Entry = Readonly<{
  socket: Socket;
  /** Of the peer, an IPv4 one on a dual-stack socket written as IPv4. */
  ip: string;
  /** From this call on the connection counts as authenticated. */
  proved: () => void;
}>;

/**
 * Counts connections before anything is computed for them: an SSH handshake costs the server more
 * than the client, and one that is never finished costs memory.
 */
export class ConnectionLimit {
  readonly #limits: AdmissionLimits;
  readonly #entries = new Set<Entry>();
  readonly #unproved = new Map<string, number>();
  #unprovedCount = 0;

  constructor(limits: Partial<AdmissionLimits> = {}) {
    this.#limits = { ...admissionLimitsDefault, ...limits };
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Undefined, and the connection closed, when there are too many. */
  enter(socket: Socket): Entry | undefined {
    const ip = peerAddress(socket);
    const network = networkOf(ip);
    const { connectionsMax, unprovedMax, unprovedMaxPerNetwork, proofMs } = this.#limits;
    const full =
      this.#entries.size >= connectionsMax ||
      this.#unprovedCount >= unprovedMax ||
      (this.#unproved.get(network) ?? 0) >= unprovedMaxPerNetwork;
    if (full) {
      socket.destroy();
      return undefined;
    }
    this.#count(network, 1);
    const timer = setTimeout(() => socket.destroy(), proofMs);
    let proved = false;
    const settle = (): void => {
      if (proved) return;
      proved = true;
      clearTimeout(timer);
      this.#count(network, -1);
    };
    const entry = { socket, ip, proved: settle };
    this.#entries.add(entry);
    socket.once("close", () => {
      settle();
      this.#entries.delete(entry);
    });
    return entry;
  }

  closeAll(): void {
    for (const { socket } of this.#entries) socket.destroy();
  }

  #count(network: string, change: 1 | -1): void {
    this.#unprovedCount += change;
    const count = (this.#unproved.get(network) ?? 0) + change;
    if (count === 0) this.#unproved.delete(network);
    else this.#unproved.set(network, count);
  }
}
