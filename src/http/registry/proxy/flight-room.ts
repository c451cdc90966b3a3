import { statfsSync } from "node:fs";
import { tmpdir } from "node:os";

import { Room } from "./room.ts";

let room: Room | undefined;

/** For files that come: a part of what is free in the folder of temporary files when the first of them comes. */
export function flightRoom(): Room {
  if (room !== undefined) return room;
  const { bavail, bsize } = statfsSync(tmpdir());
  const free = bavail * bsize;
  room = new Room(Math.floor(free * 0.75), Math.floor(free * 0.5));
  return room;
}
