import type { Socket } from "node:net";

import { type Hold, Limit } from "../platform/limit.ts";
import { networkOf, peerAddress } from "../platform/network.ts";

export type AdmissionLimits = Readonly<{
  connectionsMax: number;
  /** Of these, how many may be there unauthenticated. */
  unauthenticatedMax: number;
  unauthenticatedMaxPerNetwork: number;
  /** From the first byte to the authentication. */
  authenticationMs: number;
  /** What a client may send until then: each packet takes time, also one that means nothing. */
  authenticationBytesMax: number;
}>;

const admissionLimitsDefault: AdmissionLimits = {
  connectionsMax: 512,
  unauthenticatedMax: 100,
  unauthenticatedMaxPerNetwork: 25,
  authenticationMs: 30_000,
  // Ten keys of RSA with 16,384 bits and their signatures have some 50 KiB.
  authenticationBytesMax: 256 * 1024,
};

/** A connection that was let in. */
export type Entry = Readonly<{
  socket: Socket;
  /** Of the peer, an IPv4 one on a dual-stack socket written as IPv4. */
  ip: string;
  /** From this call on the connection counts as authenticated. */
  authenticated: () => void;
}>;

/**
 * Counts connections before anything is computed for them: an SSH handshake costs the server more
 * than the client, and one that is never finished costs memory.
 */
export class Admission {
  readonly #authenticationMs: number;
  readonly #authenticationBytesMax: number;
  readonly #all: Limit;
  readonly #unauthenticated: Limit;
  readonly #entries = new Set<Entry>();

  constructor(limits: Partial<AdmissionLimits> = {}) {
    const { connectionsMax, ...unauthenticated } = { ...admissionLimitsDefault, ...limits };
    this.#authenticationMs = unauthenticated.authenticationMs;
    this.#authenticationBytesMax = unauthenticated.authenticationBytesMax;
    const refused = { whenFull: "refuse" } as const;
    const all = { total: connectionsMax, share: connectionsMax };
    this.#all = new Limit({ name: "ssh.connections", ...all, ...refused });
    const total = unauthenticated.unauthenticatedMax;
    const share = unauthenticated.unauthenticatedMaxPerNetwork;
    this.#unauthenticated = new Limit({
      name: "ssh.unproved_connections",
      total,
      share,
      ...refused,
    });
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
    const timer = setTimeout(() => socket.destroy(), this.#authenticationMs);
    const bound = (): void => {
      if (socket.bytesRead > this.#authenticationBytesMax) socket.destroy();
    };
    socket.on("data", bound);
    const authenticated = (): void => {
      clearTimeout(timer);
      socket.off("data", bound);
      holds.unauthenticated.leave();
    };
    const entry = { socket, ip, authenticated };
    this.#entries.add(entry);
    socket.once("close", () => {
      authenticated();
      holds.connection.leave();
      this.#entries.delete(entry);
    });
    return entry;
  }

  closeAll(): void {
    for (const { socket } of this.#entries) socket.destroy();
  }

  #holdsFor(caller: string): Readonly<{ connection: Hold; unauthenticated: Hold }> | undefined {
    const connection = this.#all.tryTake({ caller });
    const unauthenticated = connection && this.#unauthenticated.tryTake({ caller });
    if (unauthenticated === undefined) connection?.leave();
    return connection && unauthenticated && { connection, unauthenticated };
  }
}
