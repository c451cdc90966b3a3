import type { Claim } from "../../../core/file/checksum.ts";

/** Of a package of npm: `integrity` holds one or more of the form of Subresource Integrity. */
export function npmClaims(dist: Readonly<{ integrity: string; shasum: string }>): readonly Claim[] {
  const ofIntegrity = dist.integrity.split(/\s+/).map((each) => {
    const [, algorithm = "integrity", base64 = ""] = /^([a-z0-9]+)-([^?]+)/.exec(each) ?? [];
    const sent = Buffer.from(base64, "base64").toString("hex") || each;
    return { name: "integrity", algorithm, sent };
  });
  return [...ofIntegrity, { name: "shasum", algorithm: "sha1", sent: dist.shasum }];
}
