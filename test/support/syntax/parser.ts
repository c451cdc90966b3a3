import * as ts from "typescript/unstable/ast";

/** What a parameter is given: the text, as such or as bytes, or a constant. */
export type Argument = "text" | "bytes" | "number" | "word" | "date" | "list" | "nothing";

/** What reads a text at once: an exported function, the function that it returns, or a method of an exported class. */
export type Parser = Readonly<{
  file: string;
  name: string;
  args: readonly Argument[];
  method?: string;
  /** Of the function that is returned. */
  returned?: readonly Argument[];
}>;

type Signature = Readonly<{
  parameters: readonly ts.ParameterDeclaration[];
  type?: ts.TypeNode | undefined;
  body?: ts.Node | undefined;
  modifiers?: readonly ts.Node[] | undefined;
}>;

export function parsersIn(file: string, source: ts.SourceFile): readonly Parser[] {
  return source.statements.flatMap((statement): readonly Parser[] => {
    const isClass = ts.isClassDeclaration(statement);
    if (isClass || ts.isFunctionDeclaration(statement)) {
      const name = statement.name?.text;
      if (name === undefined || !has(statement, ts.SyntaxKind.ExportKeyword)) return [];
      return isClass ? methodsOf(file, name, statement) : parsersOf(file, name, statement);
    }
    if (!ts.isVariableStatement(statement) || !has(statement, ts.SyntaxKind.ExportKeyword))
      return [];
    return statement.declarationList.declarations.flatMap(({ name, initializer }) =>
      initializer && ts.isArrowFunction(initializer) && ts.isIdentifier(name)
        ? parsersOf(file, name.text, initializer)
        : [],
    );
  });
}

function parsersOf(file: string, name: string, made: Signature): readonly Parser[] {
  if (isAsync(made)) return [];
  const args = argumentsOf(made);
  const inner = returnedBy(made);
  if (inner === undefined) return reads(args) ? [{ file, name, args }] : [];
  const returned = isAsync(inner) ? [] : argumentsOf(inner);
  if (!reads(returned)) return [];
  // What makes the function is given a text that is in order, where it does not read that itself.
  const making = args.map((argument) => (argument === "text" ? "word" : argument));
  const both = reads(args) ? [{ file, name, args, returned }] : [];
  return [...both, { file, name, args: making, returned }];
}

function methodsOf(file: string, name: string, made: ts.ClassDeclaration): readonly Parser[] {
  const maker = made.members.find(ts.isConstructorDeclaration);
  if ((maker?.parameters ?? []).some((parameter) => !isOptional(parameter))) return [];
  return made.members.flatMap((member) => {
    if (!ts.isMethodDeclaration(member) || !ts.isIdentifier(member.name) || isAsync(member))
      return [];
    const args = argumentsOf(member);
    return reads(args) ? [{ file, name, method: member.name.text, args }] : [];
  });
}

const reads = ([first]: readonly Argument[]): boolean => first === "text" || first === "bytes";

function returnedBy({ type, body }: Signature): Signature | undefined {
  if (type !== undefined) return ts.isFunctionTypeNode(type) ? type : undefined;
  return body && ts.isArrowFunction(body) ? body : undefined;
}

const isOptional = (parameter: ts.ParameterDeclaration): boolean =>
  (parameter.questionToken ?? parameter.initializer ?? parameter.dotDotDotToken) !== undefined;

const argumentsOf = ({ parameters }: Signature): readonly Argument[] =>
  parameters.filter((parameter) => !isOptional(parameter)).map(argumentOf);

function argumentOf({ type }: ts.ParameterDeclaration): Argument {
  const text = type?.getText() ?? "";
  if (/^string(?: \| (?:null|undefined))?$/.test(text)) return "text";
  if (/^(?:Buffer|Uint8Array)$/.test(text)) return "bytes";
  if (text === "number") return "number";
  if (text === "Date") return "date";
  return /^readonly (?:string|[\w"| ()]+)\[\]$/.test(text) ? "list" : "nothing";
}

const has = (node: Pick<Signature, "modifiers">, kind: ts.SyntaxKind): boolean =>
  (node.modifiers ?? []).some((modifier) => modifier.kind === kind);

function isAsync(made: Signature): boolean {
  const returns = made.type?.getText() ?? "";
  return has(made, ts.SyntaxKind.AsyncKeyword) || /^(?:Promise|Async\w+)</.test(returns);
}
