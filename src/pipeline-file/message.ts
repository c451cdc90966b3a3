import type { z } from "zod";

const kinds: Readonly<Record<string, string>> = {
  object: "a map of keywords",
  string: "text",
  array: "a list",
  boolean: "true or false",
  number: "a number",
};

/** What is wrong, for people who write pipeline files. Fields have messages of their own where more is to be said. */
export function messageOf(issue: z.core.$ZodIssue): string {
  const { message } = issue;
  const isOwn = !message.startsWith("Invalid ");
  if (!isOwn && issue.code === "invalid_type") {
    return `It must be ${kinds[issue.expected] ?? issue.expected}.`;
  }
  if (!isOwn && issue.code === "invalid_value") {
    const values = issue.values.map(String);
    const last = values.pop() ?? "";
    return `It must be ${values.length === 0 ? "" : `${values.join(", ")} or `}${last}.`;
  }
  // Texts of zod end without a full stop.
  return `${message.replace(/\.$/, "")}.`;
}
