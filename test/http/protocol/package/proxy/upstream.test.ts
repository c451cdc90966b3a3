import { expect } from "chai";
import type { Deps } from "../../../../../src/http/core/deps.ts";
import {
  type ProxyRepository,
  requestUpstream,
} from "../../../../../src/http/protocol/package/proxy/upstream.ts";

type UpstreamDeps = Pick<Deps, "outbound" | "vault">;

/** Requests an address on behalf of a proxy, with a client that records its requests. */
async function openedFor(url: string, own: string) {
  const opened: string[] = [];
  const open = async (order: { url: string }) => {
    opened.push(order.url);
    throw new Error("There is no network here.");
  };
  const proxy = { settings: { type: "PROXY", url: own } } as unknown as ProxyRepository;
  const deps = { outbound: { open }, vault: {} } as unknown as UpstreamDeps;
  const order = { url, headers: {} };
  const error: unknown = await requestUpstream(
    proxy,
    order,
    AbortSignal.timeout(5_000),
    deps,
  ).catch((reason: unknown) => reason);
  return { opened, message: (error as Error).message };
}

describe("an address that a document of an external registry names", () => {
  it("is not requested without TLS where the registry itself has TLS", async () => {
    for (const url of ["http://files.example.org/a.tgz", "HTTP://registry.example.org/a.tgz"]) {
      const { opened, message } = await openedFor(url, "https://registry.example.org/npm/");
      expect(opened, url).to.deep.equal([]);
      expect(message).to.include("no TLS");
    }
    const plain = "http://files.example.org/a.tgz";
    const fine = "https://files.example.org/a.tgz";
    expect((await openedFor(fine, "https://registry.example.org")).opened).to.deep.equal([fine]);
    expect((await openedFor(plain, "http://registry.example.org")).opened).to.deep.equal([plain]);
  });
});
