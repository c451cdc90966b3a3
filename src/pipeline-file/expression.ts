import { occurs, patternLengthMax } from "./pattern.ts";

/** The condition of a `rules: if`, parsed. */
export type Expression =
  | Readonly<{ kind: "variable"; name: string }>
  | Readonly<{ kind: "text"; value: string }>
  | Readonly<{ kind: "null" }>
  | Readonly<{ kind: "pattern"; source: string; flags: string }>
  | Readonly<{ kind: Operator; left: Expression; right: Expression }>;

type Operator = "==" | "!=" | "=~" | "!~" | "&&" | "||";

export class ExpressionError extends Error {
  override readonly name = "ExpressionError";
}

const lengthMax = 8_192;
const depthMax = 50;

type Token =
  | Readonly<{ kind: "variable" | "text"; text: string }>
  | Readonly<{ kind: "pattern"; source: string; flags: string }>
  | Readonly<{ kind: "null" | "(" | ")" }>
  | Readonly<{ kind: Operator }>;

const tokenForms = [
  /\s+/y,
  /\$(?<variable>[A-Za-z_][A-Za-z0-9_]*)/y,
  /"(?<double>[^"]*)"/y,
  /'(?<single>[^']*)'/y,
  /\/(?<source>(?:[^/\\]|\\.)+)\/(?<flags>[ismU]*)/y,
  /(?<null>null)\b/y,
  /(?<operator>==|!=|=~|!~|&&|\|\||[()])/y,
];

/**
 * Parses a condition of GitLab's language: variables (`$NAME`), texts in single or double quotes,
 * `null`, patterns (`/…/i`), `==`, `!=`, `=~`, `!~`, `&&` before `||`, and parentheses.
 *
 * @throws ExpressionError that names the place
 */
export function parseExpression(text: string): Expression {
  if (text.length > lengthMax) {
    throw new ExpressionError(`The condition is longer than ${lengthMax} characters.`);
  }
  return new ExpressionParser(tokensOf(text)).parse();
}

class ExpressionParser {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  parse(): Expression {
    const expression = this.#either(0);
    if (this.#kind() === undefined) return expression;
    throw new ExpressionError("An operator is missing between two values.");
  }

  #kind(): Token["kind"] | undefined {
    return this.#tokens[this.#at]?.kind;
  }

  #either(depth: number): Expression {
    let left = this.#both(depth);
    while (this.#kind() === "||") {
      this.#at += 1;
      left = { kind: "||", left, right: this.#both(depth) };
    }
    return left;
  }

  #both(depth: number): Expression {
    let left = this.#comparison(depth);
    while (this.#kind() === "&&") {
      this.#at += 1;
      left = { kind: "&&", left, right: this.#comparison(depth) };
    }
    return left;
  }

  #comparison(depth: number): Expression {
    const left = this.#operand(depth);
    const kind = this.#kind();
    if (kind !== "==" && kind !== "!=" && kind !== "=~" && kind !== "!~") {
      if (left.kind !== "pattern") return left;
      throw new ExpressionError("A pattern stands after =~ or !~ only.");
    }
    this.#at += 1;
    const right = this.#operand(depth);
    mustCompare(kind, left, right);
    return { kind, left, right };
  }

  #operand(depth: number): Expression {
    if (depth > depthMax) throw new ExpressionError("Parentheses are nested too deep.");
    const token = this.#tokens[this.#at];
    this.#at += 1;
    if (token === undefined) {
      throw new ExpressionError("The condition ends where a value is expected.");
    }
    switch (token.kind) {
      case "variable":
        return { kind: "variable", name: token.text };
      case "text":
        return { kind: "text", value: token.text };
      case "pattern":
        return token;
      case "null":
        return { kind: "null" };
      case "(":
        return this.#group(depth);
      default:
        throw new ExpressionError(`A value is expected in front of ${token.kind}.`);
    }
  }

  #group(depth: number): Expression {
    const inner = this.#either(depth + 1);
    if (this.#kind() !== ")") throw new ExpressionError("A parenthesis is not closed.");
    this.#at += 1;
    return inner;
  }
}

function tokensOf(text: string): readonly Token[] {
  const tokens: Token[] = [];
  let at = 0;
  while (at < text.length) {
    const match = matchAt(text, at);
    if (match === undefined) {
      const near = text.slice(at, at + 20);
      throw new ExpressionError(`The condition cannot be read at character ${at + 1}: ${near}`);
    }
    at += match[0].length;
    const token = tokenOf(match.groups ?? {});
    if (token !== undefined) tokens.push(token);
  }
  return tokens;
}

function matchAt(text: string, at: number): RegExpExecArray | undefined {
  for (const form of tokenForms) {
    form.lastIndex = at;
    const match = form.exec(text);
    if (match !== null) return match;
  }
  return undefined;
}

function tokenOf(groups: Readonly<Record<string, string | undefined>>): Token | undefined {
  const { variable, double, single, source, flags = "", operator } = groups;
  if (variable !== undefined) return { kind: "variable", text: variable };
  const text = double ?? single;
  if (text !== undefined) return { kind: "text", text };
  if (source !== undefined)
    return { kind: "pattern", source: source.replaceAll("\\/", "/"), flags };
  if (groups["null"] !== undefined) return { kind: "null" };
  // The form of operators matches nothing but these.
  return operator === undefined ? undefined : { kind: operator as Operator | "(" | ")" };
}

function mustCompare(kind: Operator, left: Expression, right: Expression): void {
  if (left.kind === "pattern") throw new ExpressionError("A pattern stands on the right only.");
  const matching = kind === "=~" || kind === "!~";
  if (!matching && right.kind === "pattern") {
    throw new ExpressionError(`A pattern is compared by =~ or !~, not by ${kind}.`);
  }
  if (matching && right.kind !== "pattern" && right.kind !== "variable") {
    throw new ExpressionError(`A pattern such as /text/ is expected after ${kind}.`);
  }
  if (right.kind === "pattern" && occurs(right.source, right.flags, "") === undefined) {
    const limit = `at most ${patternLengthMax} characters of RE2 syntax`;
    throw new ExpressionError(`The pattern /${right.source}/ is malformed; ${limit} are taken.`);
  }
}

export type Lookup = (name: string) => string | undefined;

/** Whether the condition holds. A bare variable holds when it is defined and not empty. */
export function holds(expression: Expression, lookup: Lookup): boolean {
  return truth(evaluate(expression, lookup));
}

type Value = string | boolean | null;

const truth = (value: Value): boolean => value !== null && value !== false && value !== "";

function evaluate(expression: Expression, lookup: Lookup): Value {
  switch (expression.kind) {
    case "variable":
      return lookup(expression.name) ?? null;
    case "text":
      return expression.value;
    case "null":
      return null;
    case "pattern":
      return expression.source;
    case "==":
      return evaluate(expression.left, lookup) === evaluate(expression.right, lookup);
    case "!=":
      return evaluate(expression.left, lookup) !== evaluate(expression.right, lookup);
    case "=~":
      return matches(expression, lookup);
    case "!~":
      return !matches(expression, lookup);
    case "&&":
      return holds(expression.left, lookup) && holds(expression.right, lookup);
    case "||":
      return holds(expression.left, lookup) || holds(expression.right, lookup);
  }
}

/** A variable on the right holds a pattern with its slashes; without them it matches nothing. */
function matches(
  { left, right }: Readonly<{ left: Expression; right: Expression }>,
  lookup: Lookup,
): boolean {
  const subject = evaluate(left, lookup);
  if (typeof subject !== "string") return false;
  if (right.kind === "pattern") return occurs(right.source, right.flags, subject) === true;
  const written = evaluate(right, lookup);
  const parts = typeof written === "string" ? /^\/(.+)\/([ismU]*)$/s.exec(written) : null;
  if (parts === null) return false;
  const [, source = "", flags = ""] = parts;
  return occurs(source.replaceAll("\\/", "/"), flags, subject) === true;
}
