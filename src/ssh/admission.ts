import type { Socket } from "node:net";

import { type Hold, Limit } from "../platform/limit.ts";
import { networkOf, peerAddress } from "../platform/network.ts";

export type AdmissionLimits = Readonly<{
  connectionsMax: number;
  /** Of these, how many may be there without having proved who they are. */
  unprovedMax: number;
  unprovedMaxPerNetwork: number;
  /** From the first byte to a proof. */
  proofMs: number;
  /** What a client may send until then: each packet takes time, also one that means nothing. */
  proofBytesMax: number;
}>;

const admissionLimitsDefault: AdmissionLimits = {
  connectionsMax: 512,
  unprovedMax: 100,
  unprovedMaxPerNetwork: 25,
  proofMs: 30_000,
  // Ten keys of RSA with 16,384 bits and their signatures have some 50 KiB.
  proofBytesMax: 256 * 1024,
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
export class Admission {
  readonly #proofMs: number;
  readonly #proofBytesMax: number;
  readonly #all: Limit;
  readonly #unproved: Limit;
  readonly #entries = new Set<Entry>();

  constructor(limits: Partial<AdmissionLimits> = {}) {
    const { connectionsMax, ...unproved } = { ...admissionLimitsDefault, ...limits };
    this.#proofMs = unproved.proofMs;
    this.#proofBytesMax = unproved.proofBytesMax;
    const refused = { whenFull: "refuse" } as const;
    const all = { total: connectionsMax, share: connectionsMax };
    this.#all = new Limit({ name: "ssh.connections", ...all, ...refused });
    const total = unproved.unprovedMax;
    const share = unproved.unprovedMaxPerNetwork;
    this.#unproved = new Limit({ name: "ssh.unproved_connections", total, share, ...refused });
  }

  get total(): number {
    return this.#all.total;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Undefined, and the connection closed, when there are too many. */
  enter(socket: Socket): Entry | undefined {
    const ip = peerAddress(socket);
    const holds = this.#holdsFor(networkOf(ip));
    if (holds === undefined) {
      socket.destroy();
      return undefined;
    }
    const timer = setTimeout(() => socket.destroy(), this.#proofMs);
    const bound = (): void => {
      if (socket.bytesRead > this.#proofBytesMax) socket.destroy();
    };
    socket.on("data", bound);
    const proved = (): void => {
      clearTimeout(timer);
      socket.off("data", bound);
      holds.unproved.leave();
    };
    const entry = { socket, ip, proved };
    this.#entries.add(entry);
    socket.once("close", () => {
      proved();
      holds.connection.leave();
      this.#entries.delete(entry);
    });
    return entry;
  }

  closeAll(): void {
    for (const { socket } of this.#entries) socket.destroy();
  }

  #holdsFor(caller: string): Readonly<{ connection: Hold; unproved: Hold }> | undefined {
    const connection = this.#all.tryTake({ caller });
    const unproved = connection && this.#unproved.tryTake({ caller });
    if (unproved === undefined) connection?.leave();
    return connection && unproved && { connection, unproved };
  }
}
