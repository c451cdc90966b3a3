// Run as a program of its own by tests of what starts programs; the argument says how it behaves.
const [manner = ""] = process.argv.slice(2);
process.stdout.write(`started ${manner}\n`);

if (manner === "fails" || manner === "misconfigured") {
  process.stderr.write("the reason is here\n");
  process.exit(manner === "fails" ? 3 : 78);
}
// What it waits for: whatever comes first ends it.
const alive = setInterval(() => undefined, 1_000);
process.on("disconnect", () => clearInterval(alive));
process.on("SIGTERM", () => {
  if (manner === "stubborn") return;
  process.stdout.write("asked to end\n");
  clearInterval(alive);
  process.disconnect?.();
});
process.on("message", ({ settings }: { settings: Record<string, string> }) => {
  process.send?.({ ready: { manner, value: settings["VALUE"] } });
});
