import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { startTestApp, type TestUser } from "../app/app.ts";
import { eventually } from "../app/eventually.ts";
import { temporaryDirectory } from "./git.ts";

/** For each test a user with a project, and requests of git that stay open. */
export async function connectionWorld() {
  const app = await startTestApp();
  const root = await app.givenUser("root", { admin: true });
  const parent = await temporaryDirectory();

  let counter = 0;
  let anna: TestUser;
  beforeEach(async () => {
    counter += 1;
    anna = await app.givenUser(`anna-${counter}`);
    await app.givenProject(anna, "project");
  });

  /** @param length of the body, which the caller is to send */
  async function send(
    user: TestUser,
    secret: string,
    service: string,
    length: number,
  ): Promise<Socket> {
    const { hostname, port } = new URL(app.url);
    const socket = connect(Number(port), hostname);
    const credentials = Buffer.from(`${user.alias}:${secret}`).toString("base64");
    socket.write(
      [
        `POST /project/${user.alias}/project.git/git-${service} HTTP/1.1`,
        "Host: localhost",
        `Authorization: Basic ${credentials}`,
        `Content-Type: application/x-git-${service}-request`,
        "Git-Protocol: version=2",
        `Content-Length: ${length}`,
        "",
        "",
      ].join("\r\n"),
    );
    socket.on("error", () => undefined);
    await once(socket, "connect");
    return socket;
  }

  return {
    app,
    root,
    parent,
    given: () => anna,
    remote({ alias }: TestUser, secret: string): string {
      const url = new URL(`/project/${alias}/project.git`, app.url);
      [url.username, url.password] = [alias, encodeURIComponent(secret)];
      return url.href;
    },
    send,
    /** A push whose pack never ends: the request stays open until the server cuts it. */
    openPush: (user: TestUser, secret: string): Promise<Socket> =>
      send(user, secret, "receive-pack", 1_000_000),
    closed: (socket: Socket, limitMs = 30_000) =>
      eventually(() => socket.destroyed || socket.readableEnded, limitMs),
  };
}
