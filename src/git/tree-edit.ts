import { type NewObject, newObject } from "./object/pack-writer.ts";

/** Modes of what a tree can hold beside directories; see gitformat "git-fast-import(1)". */
export type FileMode = "100644" | "100755" | "120000" | "160000";

/** What shall be at a path; null: nothing. */
export type FileChange = Readonly<{ mode: FileMode; id: string }> | null;

/** Name and mode are bytes as they are in the repository: nothing is lost on what is not touched. */
export type RawEntry = Readonly<{ mode: string; name: Buffer; id: string }>;

const directoryMode = "40000";

export type EditedTree = Readonly<{
  /** Of the root; that of the empty tree when nothing is left. */
  id: string;
  /** Those trees that are new. */
  trees: readonly NewObject[];
}>;

type Node = { file: FileChange | undefined; readonly children: Map<string, Node> };

/**
 * A tree with some files set or taken away. Only directories on the way to them are read and
 * written anew; those left empty are gone, as git has no empty directories.
 *
 * @param read entries of a tree, undefined when it is none
 * @param rootId null: nothing is there yet
 * @param changes by path, its parts joined by slashes. Of a path and one below it, at most one is set
 */
export async function editTree(
  read: (treeId: string) => Promise<readonly RawEntry[] | undefined>,
  rootId: string | null,
  changes: ReadonlyMap<string, FileChange>,
): Promise<EditedTree> {
  const trees: NewObject[] = [];

  const edit = async (treeId: string | null, node: Node): Promise<string | null> => {
    const before = treeId === null ? [] : await read(treeId);
    if (before === undefined) throw new Error(`No tree ${treeId}`);
    const entries = new Map(before.map((entry) => [entry.name.toString("latin1"), entry]));
    for (const [part, child] of node.children) {
      const name = Buffer.from(part);
      const key = name.toString("latin1");
      const old = entries.get(key);
      if (child.file !== undefined) entries.delete(key);
      if (child.file) entries.set(key, { ...child.file, name });
      else if (child.children.size > 0) {
        const below = await edit(old?.mode === directoryMode ? old.id : null, child);
        if (below === null) entries.delete(key);
        else entries.set(key, { mode: directoryMode, name, id: below });
      }
    }
    if (entries.size === 0) return null;
    const tree = newObject("tree", treeData([...entries.values()]));
    trees.push(tree);
    return tree.id;
  };

  const id = await edit(rootId, nodesOf(changes));
  if (id !== null) return { id, trees };
  const empty = newObject("tree", "");
  return { id: empty.id, trees: [empty] };
}

function nodesOf(changes: ReadonlyMap<string, FileChange>): Node {
  const root: Node = { file: undefined, children: new Map() };
  for (const [path, change] of changes) {
    let node = root;
    for (const part of path.split("/")) {
      const next = node.children.get(part) ?? { file: undefined, children: new Map() };
      node.children.set(part, next);
      node = next;
    }
    node.file = change;
  }
  return root;
}

/** Git sorts a directory as if its name ended in a slash. */
function treeData(entries: readonly RawEntry[]): Buffer {
  const keyOf = ({ mode, name }: RawEntry): Buffer =>
    mode === directoryMode ? Buffer.concat([name, Buffer.from("/")]) : name;
  const sorted = [...entries].sort((a, b) => Buffer.compare(keyOf(a), keyOf(b)));
  return Buffer.concat(
    sorted.flatMap(({ mode, name, id }) => [
      Buffer.from(`${mode} `),
      name,
      Buffer.from([0]),
      Buffer.from(id, "hex"),
    ]),
  );
}

/** The entries of a tree object's data. */
export function rawEntries(data: Buffer): readonly RawEntry[] {
  const idBytes = 20;
  const entries: RawEntry[] = [];
  for (let at = 0; at < data.length; ) {
    const space = data.indexOf(0x20, at);
    const end = data.indexOf(0, space);
    if (space < 0 || end < 0 || end + 1 + idBytes > data.length) throw new Error("Malformed tree");
    entries.push({
      mode: data.toString("latin1", at, space),
      name: data.subarray(space + 1, end),
      id: data.toString("hex", end + 1, end + 1 + idBytes),
    });
    at = end + 1 + idBytes;
  }
  return entries;
}
