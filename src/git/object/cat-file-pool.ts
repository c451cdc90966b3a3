import { CatFile } from "./cat-file.ts";

type Member = { readonly gitDir: string; readonly process: CatFile; idleSince: number };

export type CatFilePoolOptions = Readonly<{
  processesMax: number;
  perRepositoryMax: number;
  idleMs: number;
}>;

const defaults: CatFilePoolOptions = { processesMax: 24, perRepositoryMax: 2, idleMs: 60_000 };

/** A process answers many questions at once; a second one pays only beyond this many. */
const busyFrom = 16;

/** Keeps a bounded number of readers, each bound to one repository; the longest idle goes first. */
export class CatFilePool {
  readonly #options: CatFilePoolOptions;
  readonly #members = new Set<Member>();
  readonly #waiting: (() => void)[] = [];
  readonly #sweep: NodeJS.Timeout;
  #closed = false;

  constructor(options: Partial<CatFilePoolOptions> = {}) {
    this.#options = { ...defaults, ...options };
    this.#sweep = setInterval(() => this.#dropIdle(), this.#options.idleMs / 2);
    this.#sweep.unref();
  }

  get size(): number {
    return this.#members.size;
  }

  /** Queries a reader of the repository, waiting for a free slot when all are busy with others. */
  async use<Answer>(
    gitDir: string,
    question: (process: CatFile) => Promise<Answer>,
  ): Promise<Answer> {
    for (;;) {
      if (this.#closed) throw new Error("The git readers are closed");
      const process = this.#pick(gitDir);
      if (process !== undefined) return question(process);
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  /** Ends the readers of a repository that is about to go away. */
  forget(gitDir: string): void {
    for (const member of this.#members) if (member.gitDir === gitDir) this.#drop(member);
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#sweep);
    for (const member of this.#members) this.#drop(member);
    this.#wake();
  }

  #pick(gitDir: string): CatFile | undefined {
    const own = [...this.#members].filter((member) => member.gitDir === gitDir);
    const [best] = own.sort((a, b) => a.process.pendingCount - b.process.pendingCount);
    if (best !== undefined) {
      const enough = best.process.pendingCount < busyFrom;
      if (enough || own.length >= this.#options.perRepositoryMax) return best.process;
    }
    if (this.#members.size < this.#options.processesMax || this.#dropLongestIdle()) {
      return this.#start(gitDir);
    }
    return best?.process;
  }

  #start(gitDir: string): CatFile {
    const process = new CatFile(
      gitDir,
      () => {
        member.idleSince = Date.now();
        this.#wake();
      },
      () => {
        this.#members.delete(member);
        this.#wake();
      },
    );
    const member: Member = { gitDir, process, idleSince: Date.now() };
    this.#members.add(member);
    return process;
  }

  #dropLongestIdle(): boolean {
    const idle = [...this.#members].filter(({ process }) => process.pendingCount === 0);
    const [longest] = idle.sort((a, b) => a.idleSince - b.idleSince);
    if (longest === undefined) return false;
    this.#drop(longest);
    return true;
  }

  #dropIdle(): void {
    const before = Date.now() - this.#options.idleMs;
    for (const member of this.#members) {
      if (member.process.pendingCount === 0 && member.idleSince < before) this.#drop(member);
    }
  }

  #drop(member: Member): void {
    this.#members.delete(member);
    member.process.close();
  }

  #wake(): void {
    for (const resume of this.#waiting.splice(0)) resume();
  }
}
