import { trimmedOf } from "../trim.ts";
import type { S3Address } from "./s3.ts";

/** What servers other than Amazon's expect when they do not care. */
const regionDefault = "us-east-1";
/** The rules of Amazon S3 for new buckets. */
const bucketForm = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const options = new Set(["endpoint", "region"]);

/**
 * `s3://bucket/prefix?endpoint=https://s3.example.org&region=eu-west-1`. Without an endpoint it is
 * Amazon's. Credentials do not belong into it.
 *
 * @throws Error in words for the operator
 */
export function parseBlobUrl(text: string): S3Address {
  if (!URL.canParse(text)) throw new Error("is no URL");
  const url = new URL(text);
  if (url.protocol !== "s3:") throw new Error("must start with s3://");
  if (url.username !== "" || url.password !== "") {
    throw new Error("must not hold credentials: the AWS SDK takes them from the environment");
  }
  if (!bucketForm.test(url.host)) throw new Error("must name a bucket: s3://bucket/prefix");
  const unknown = [...url.searchParams.keys()].find((key) => !options.has(key));
  if (unknown !== undefined) throw new Error(`has an unknown option ${unknown}`);
  const endpoint = url.searchParams.get("endpoint") ?? undefined;
  if (endpoint !== undefined && !/^https?:$/.test(protocolOf(endpoint))) {
    throw new Error("has an endpoint that is no http or https address");
  }
  return {
    bucket: url.host,
    prefix: trimmedOf(decodeURIComponent(url.pathname), "/"),
    endpoint,
    region: url.searchParams.get("region") ?? regionDefault,
  };
}

const protocolOf = (text: string): string => (URL.canParse(text) ? new URL(text).protocol : "");
