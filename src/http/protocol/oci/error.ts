import { HttpRefusal } from "../../core/errors.ts";

/** OCI distribution-spec, "Error Codes". */
const codes = [
  "BLOB_UNKNOWN",
  "BLOB_UPLOAD_INVALID",
  "BLOB_UPLOAD_UNKNOWN",
  "DENIED",
  "DIGEST_INVALID",
  "MANIFEST_BLOB_UNKNOWN",
  "MANIFEST_INVALID",
  "MANIFEST_UNKNOWN",
  "NAME_INVALID",
  "NAME_UNKNOWN",
  "SIZE_INVALID",
  "TOOMANYREQUESTS",
  "UNAUTHORIZED",
  "UNSUPPORTED",
  "UNKNOWN",
] as const;
export type ContainerErrorCode = (typeof codes)[number];

/** A refusal that has a code of its own in the specification. */
export function containerRefusal(
  status: number,
  code: ContainerErrorCode,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): HttpRefusal {
  return new HttpRefusal(status, `container.${code.toLowerCase()}`, message, headers);
}

const byStatus: Readonly<Record<number, ContainerErrorCode>> = {
  401: "UNAUTHORIZED",
  403: "DENIED",
  404: "NAME_UNKNOWN",
  405: "UNSUPPORTED",
  409: "DENIED",
  413: "SIZE_INVALID",
  416: "BLOB_UPLOAD_INVALID",
  429: "TOOMANYREQUESTS",
};

/** The specification's code of any refusal, by the service's own code or else by its status. */
export function containerCodeOf(status: number, code: string): ContainerErrorCode {
  const own = /^container\.([a-z_]+)$/.exec(code)?.[1]?.toUpperCase();
  return codes.find((known) => known === own) ?? byStatus[status] ?? "UNKNOWN";
}
