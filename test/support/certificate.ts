import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

export type Certificate = Readonly<{ cert: string; key: string }>;

/** A certificate of its own making and its key, both PEM; valid for a month. */
export async function givenCertificate(
  options: Readonly<{ name?: string; key?: string; san?: string }> = {},
): Promise<Certificate> {
  const { name = "test", key = "rsa:2048", san } = options;
  const parameters = key === "ec" ? ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"] : [key];
  const { stdout } = await run("openssl", [
    ...["req", "-x509", "-nodes", "-days", "30", "-subj", `/CN=${name}`, "-newkey", ...parameters],
    ...["-keyout", "-", "-out", "-"],
    ...(san === undefined ? [] : ["-addext", `subjectAltName=${san}`]),
  ]);
  const block = (label: string): string =>
    new RegExp(`-----BEGIN ${label}-----[\\s\\S]*?-----END ${label}-----`).exec(stdout)?.[0] ?? "";
  return { cert: block("CERTIFICATE"), key: block("(?:EC |RSA )?PRIVATE KEY") };
}
