import { z } from "zod";
import { outsideList } from "../outside-list.ts";
import { SamlRefused } from "./saml-xml.ts";

/** Who a provider says the person is, all of it signed. */
export type SamlIdentity = Readonly<{
  assertionId: string;
  /** Until when the same assertion must not be taken again. */
  expiresAt: Date;
  /** The request this answers; null when it is unsolicited. */
  inResponseTo: string | null;
  /** The provider's name for the person, with its format: unique within the provider. */
  subject: string;
  nameId: string;
  nameIdFormat: string;
  /** First values by name. */
  attributes: ReadonlyMap<string, string>;
}>;

const bearer = "urn:oasis:names:tc:SAML:2.0:cm:bearer";
const transient = "urn:oasis:names:tc:SAML:2.0:nameid-format:transient";
const subjectLengthMax = 1_024;

const attributes = <Shape extends z.ZodRawShape>(shape: Shape) => z.object({ $: z.object(shape) });
const Text = z.object({ _: z.string().min(1), $: z.record(z.string(), z.string()).optional() });

const Confirmation = attributes({ Method: z.string() }).extend({
  SubjectConfirmationData: z
    .tuple([
      attributes({
        Recipient: z.string().optional(),
        NotBefore: z.string().optional(),
        NotOnOrAfter: z.string().optional(),
        InResponseTo: z.string().optional(),
      }),
    ])
    .optional(),
});

const Attribute = attributes({ Name: z.string() }).extend({
  AttributeValue: outsideList(z.unknown()).optional(),
});
const AttributeStatement = z.object({ Attribute: outsideList(Attribute).optional() });

/** As the library's parser gives it: attributes under `$`, text under `_`, children as lists. */
const Assertion = attributes({ ID: z.string().min(1), Version: z.literal("2.0") }).extend({
  Issuer: z.tuple([Text]),
  Subject: z.tuple([
    z.object({ NameID: z.tuple([Text]), SubjectConfirmation: outsideList(Confirmation, 1) }),
  ]),
  Conditions: z.tuple([attributes({ NotOnOrAfter: z.string() })]),
  AuthnStatement: outsideList(attributes({ SessionNotOnOrAfter: z.string().optional() }), 1),
  // Text alone where it holds nothing.
  AttributeStatement: outsideList(z.union([z.string(), AttributeStatement])).optional(),
});
type Assertion = z.output<typeof Assertion>;

export type Expected = Readonly<{
  acsUrl: string;
  idpIssuer: string;
  now: Date;
  clockSkewMs: number;
}>;

/**
 * Reads an assertion whose signature, audience and times of its conditions were checked, and checks the
 * rest that the browser profile requires (SAML Profiles, 4.1.4.3).
 *
 * @throws SamlRefused
 */
export function readAssertion(parsed: unknown, expected: Expected): SamlIdentity {
  const checked = z.object({ Assertion }).safeParse(parsed);
  if (!checked.success) {
    const where = checked.error.issues[0]?.path.join(".") ?? "";
    throw new SamlRefused(`The assertion lacks something, or has too much of it: ${where}`);
  }
  const assertion = checked.data.Assertion;
  const [issuer] = assertion.Issuer;
  if (issuer._ !== expected.idpIssuer) throw new SamlRefused(`It was issued by ${issuer._}.`);
  for (const { $ } of assertion.AuthnStatement) mustBeAhead($.SessionNotOnOrAfter, expected);

  const { NameID, SubjectConfirmation } = assertion.Subject[0];
  const confirmed = bearerOf(SubjectConfirmation, expected);
  const nameId = NameID[0]._.trim();
  const nameIdFormat = NameID[0].$?.["Format"] ?? "";
  if (nameId === "" || nameId.length > subjectLengthMax) {
    throw new SamlRefused("The name of its subject is empty or too long.");
  }
  if (nameIdFormat === transient) {
    throw new SamlRefused("The name of its subject is another at each login (transient).");
  }
  const until = Math.max(
    time(confirmed.NotOnOrAfter),
    time(assertion.Conditions[0].$.NotOnOrAfter),
  );
  return {
    assertionId: assertion.$.ID,
    expiresAt: new Date(until + expected.clockSkewMs),
    inResponseTo: confirmed.InResponseTo ?? null,
    subject: JSON.stringify([nameIdFormat, nameId]),
    nameId,
    nameIdFormat,
    attributes: attributesOf(assertion),
  };
}

type Confirmed = Readonly<{ NotOnOrAfter: string; InResponseTo?: string | undefined }>;

/** The bearer confirmation that names this address and is valid now. */
function bearerOf(
  confirmations: Assertion["Subject"][0]["SubjectConfirmation"],
  { acsUrl, now, clockSkewMs }: Expected,
): Confirmed {
  for (const { $, SubjectConfirmationData: data } of confirmations) {
    const attributes = data?.[0].$;
    if ($.Method !== bearer || attributes?.Recipient !== acsUrl) continue;
    const { NotOnOrAfter, InResponseTo } = attributes;
    // The profile forbids NotBefore here; one that is sent all the same is checked.
    const begun =
      attributes.NotBefore === undefined ||
      time(attributes.NotBefore) <= now.getTime() + clockSkewMs;
    if (NotOnOrAfter === undefined || !begun) continue;
    if (time(NotOnOrAfter) + clockSkewMs > now.getTime()) return { NotOnOrAfter, InResponseTo };
  }
  throw new SamlRefused("It is confirmed for no bearer, not for this address, or no longer.");
}

function mustBeAhead(instant: string | undefined, { now, clockSkewMs }: Expected): void {
  if (instant === undefined || time(instant) + clockSkewMs > now.getTime()) return;
  throw new SamlRefused("The session at the provider is over.");
}

function time(text: string): number {
  const milliseconds = Date.parse(text);
  if (Number.isNaN(milliseconds)) throw new SamlRefused(`It holds a time that is none: ${text}`);
  return milliseconds;
}

function attributesOf({ AttributeStatement: statements = [] }: Assertion): Map<string, string> {
  const found = new Map<string, string>();
  const all = statements.flatMap((each) => (typeof each === "string" ? [] : each.Attribute));
  for (const { $, AttributeValue: values = [] } of all.filter((each) => each !== undefined)) {
    const [first] = values.map(textOf).filter((text) => text !== "");
    if (first !== undefined && !found.has($.Name)) found.set($.Name, first);
  }
  return found;
}

function textOf(value: unknown): string {
  if (typeof value === "string") return value.trim();
  const parsed = Text.safeParse(value);
  return parsed.success ? parsed.data._.trim() : "";
}
