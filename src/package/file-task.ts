/** What reads files of packages, each from a module that is loaded with its first file. */
const readers = {
  checkNpmTarball: async () => (await import("./npm/format.ts")).checkNpmTarball,
  checkPypiFile: async () => (await import("./pypi/format.ts")).checkPypiFile,
  goalPrefixIn: async () => (await import("./maven/plugin.ts")).goalPrefixIn,
  readChart: async () => (await import("./helm/format.ts")).readChart,
  readComposerPackage: async () => (await import("./composer/format.ts")).readComposerPackage,
  readConda: async () => (await import("./conda/format.ts")).readConda,
  readCran: async () => (await import("./cran/format.ts")).readCran,
  readCrate: async () => (await import("./cargo/format.ts")).readCrate,
  readDeb: async () => (await import("./debian/format.ts")).readDeb,
  readGem: async () => (await import("./rubygem/format.ts")).readGem,
  readGoModule: async () => (await import("./go/format.ts")).readGoModule,
  readNpmManifest: async () => (await import("./npm/format.ts")).readNpmManifest,
  readNuspec: async () => (await import("./nuget/format.ts")).readNuspec,
  readProvenance: async () => (await import("./helm/format.ts")).readProvenance,
  readPypiFile: async () => (await import("./pypi/file.ts")).readPypiFile,
  readRpm: async () => (await import("./rpm/format.ts")).readRpm,
  readSymbolsNuspec: async () => (await import("./nuget/format.ts")).readSymbolsNuspec,
} as const;

type Readers = typeof readers;

/** Functions from a file and more to what it is. */
export type FileReaders = {
  [Name in keyof Readers]: Awaited<ReturnType<Readers[Name]>>;
};

export type FileQuestion = {
  [Name in keyof FileReaders]: Readonly<{ name: Name; given: Parameters<FileReaders[Name]> }>;
}[keyof FileReaders];

export async function run({ name, given }: FileQuestion): Promise<unknown> {
  const read = await readers[name]();
  // Name and arguments belong together; the compiler cannot see it through the union.
  return await (read as (...all: readonly unknown[]) => Promise<unknown>)(...given);
}
