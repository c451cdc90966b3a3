import { accessMatrix } from "../../support/access/matrix.ts";

await accessMatrix("whole");
