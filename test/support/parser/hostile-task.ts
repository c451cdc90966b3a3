export type HostileQuestion =
  | Readonly<{ kind: "double"; number: number }>
  | Readonly<{ kind: "endless" | "heap" | "buffers" | "throw" | "parameters" }>
  | Readonly<{ kind: "ask"; times: number }>;

/** What a document from outside may do to what reads it. */
export async function run(
  question: HostileQuestion,
  requestReply: (wanted: number) => Promise<unknown>,
): Promise<unknown> {
  switch (question.kind) {
    case "double":
      return { doubled: 2 * question.number, pid: process.pid };
    case "ask": {
      let sum = 0;
      for (let n = 0; n < question.times; n += 1) sum += Number(await requestReply(n));
      return sum;
    }
    case "parameters":
      return { env: Object.keys(process.env), arguments: process.execArgv };
    case "throw":
      throw new TypeError("an entry is missing");
    case "endless":
      for (;;);
    case "heap": {
      const kept: object[][] = [];
      for (;;) kept.push(new Array<object>(1_000_000).fill(question));
    }
    case "buffers": {
      const kept: Buffer[] = [];
      for (;;) kept.push(Buffer.alloc(1024 ** 2, 1));
    }
  }
}
