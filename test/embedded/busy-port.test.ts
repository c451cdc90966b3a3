import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { expect } from "chai";
import { ConfigError } from "../../src/config.ts";
import { mustBeFree } from "../../src/embedded/busy-port.ts";

const server = createServer().listen(0, "127.0.0.1");
await once(server, "listening");
const { port } = server.address() as AddressInfo;
after(() => server.close());

describe("a port that the service is to listen on", () => {
  it("is refused in one line that names the variable while another process listens", async () => {
    const message = `Port ${port} of 127.0.0.1 is in use: choose another PORT.`;
    await expect(mustBeFree("127.0.0.1", port, "PORT")).to.be.rejectedWith(ConfigError, message);
  });

  it("is left free, and may be any", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await once(other, "listening");
    const free = (other.address() as AddressInfo).port;
    await new Promise((resolve) => other.close(resolve));
    await mustBeFree("127.0.0.1", free, "PORT");
    await mustBeFree("127.0.0.1", free, "PORT");
    await mustBeFree("127.0.0.1", 0, "PORT");
  });
});
