import path from "node:path";

import * as ts from "typescript/unstable/ast";

import { walk } from "./source.ts";

type Sources = ReadonlyMap<string, ts.SourceFile>;
type Texts = readonly string[] | undefined;
type Declared = ts.ParameterDeclaration | ts.VariableDeclaration | ts.ImportSpecifier;

/** The source of a regular expression between its slashes, and its flags. */
export function partsOfLiteral(text: string): Readonly<{ source: string; flags: string }> {
  const end = text.lastIndexOf("/");
  return { source: text.slice(1, end), flags: text.slice(end + 1) };
}

/** Computes which texts an expression may be, of constants, elements of lists and what callers of a function pass. */
export class ConstantTexts {
  readonly #sources: Sources;

  constructor(sources: Sources) {
    this.#sources = sources;
  }

  /** @returns undefined for an expression that not only constants make */
  of(node: ts.Node): Texts {
    if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) return [node.text];
    if (ts.isNumericLiteral(node)) return [node.text];
    if (ts.isParenthesizedExpression(node) || ts.isAsExpression(node))
      return this.of(node.expression);
    if (ts.isTemplateExpression(node)) return this.#template(node);
    if (ts.isTaggedTemplateExpression(node)) return rawText(node);
    if (ts.isPropertyAccessExpression(node)) return this.#expressionSource(node);
    return ts.isIdentifier(node) ? this.#named(node) : undefined;
  }

  #template(node: ts.TemplateExpression): Texts {
    let texts: readonly string[] = [node.head.text];
    for (const { expression, literal } of node.templateSpans) {
      const parts = this.of(expression);
      if (parts === undefined) return undefined;
      texts = texts.flatMap((text) => parts.map((part) => text + part + literal.text));
    }
    return texts;
  }

  /** Of `name.source`, where the name is that of a regular expression. */
  #expressionSource(node: ts.PropertyAccessExpression): Texts {
    if (node.name.text !== "source" || !ts.isIdentifier(node.expression)) return undefined;
    const declared = declarationOf(node.expression);
    const literal =
      declared && ts.isVariableDeclaration(declared) ? declared.initializer : undefined;
    if (literal === undefined || !ts.isRegularExpressionLiteral(literal)) return undefined;
    return [partsOfLiteral(literal.text).source];
  }

  #named(node: ts.Identifier): Texts {
    const declared = declarationOf(node);
    if (declared === undefined) return undefined;
    if (ts.isImportSpecifier(declared)) return this.#imported(declared, node);
    if (ts.isParameterDeclaration(declared)) return this.#passed(declared);
    const { parent } = declared.parent;
    if (ts.isForOfStatement(parent)) return this.#elements(parent.expression);
    return declared.initializer && this.of(declared.initializer);
  }

  #imported(declared: ts.ImportSpecifier, node: ts.Identifier): Texts {
    const file = this.#sources.get(importedFile(declared));
    const name = (declared.propertyName ?? declared.name).text;
    const own = file && declaredIn(file, name);
    const isConstant = own !== undefined && ts.isVariableDeclaration(own) && own.initializer;
    return isConstant && declared.name.text === node.text ? this.of(isConstant) : undefined;
  }

  /** What the callers of the function pass for its parameter. */
  #passed(parameter: ts.ParameterDeclaration): Texts {
    const made = parameter.parent;
    if (!ts.isArrowFunction(made) && !ts.isFunctionDeclaration(made)) return undefined;
    const at = made.parameters.indexOf(parameter);
    const { parent } = made;
    if (ts.isCallExpression(parent) && ts.isPropertyAccessExpression(parent.expression)) {
      const { expression, name } = parent.expression;
      return name.text === "map" ? this.#elements(expression) : undefined;
    }
    const name = ts.isVariableDeclaration(parent)
      ? parent.name
      : ts.isFunctionDeclaration(made)
        ? made.name
        : undefined;
    if (name === undefined || !ts.isIdentifier(name)) return undefined;
    const passed = this.#callsOf(name).map((call) => call.arguments[at]);
    const texts = passed.map((argument) => argument && this.of(argument));
    return texts.some((each) => each === undefined)
      ? undefined
      : texts.flatMap((each) => each ?? []);
  }

  #elements(list: ts.Expression): Texts {
    const plain = ts.isAsExpression(list) ? list.expression : list;
    if (!ts.isArrayLiteralExpression(plain)) return undefined;
    const texts = plain.elements.map((element) => this.of(element));
    return texts.some((each) => each === undefined)
      ? undefined
      : texts.flatMap((each) => each ?? []);
  }

  /** In its own file, and in those that import it by this name. */
  #callsOf(name: ts.Identifier): readonly ts.CallExpression[] {
    const own = name.getSourceFile();
    const calls: ts.CallExpression[] = [];
    for (const [, file] of this.#sources) {
      const declared = file === own ? undefined : declaredIn(file, name.text);
      const imports =
        declared !== undefined &&
        ts.isImportSpecifier(declared) &&
        this.#sources.get(importedFile(declared)) === own;
      if (file !== own && !imports) continue;
      walk(file, (node) => {
        if (!ts.isCallExpression(node) || !ts.isIdentifier(node.expression)) return;
        if (node.expression.text === name.text) calls.push(node);
      });
    }
    return calls;
  }
}

function rawText({ tag, template }: ts.TaggedTemplateExpression): Texts {
  const isRaw = tag.getText() === "String.raw" && ts.isNoSubstitutionTemplateLiteral(template);
  return isRaw ? [template.getText().slice(1, -1)] : undefined;
}

/** Where the name is declared: in the innermost scope around it that has it. */
function declarationOf(name: ts.Identifier): Declared | undefined {
  for (let scope = name.parent; scope !== undefined; scope = scope.parent) {
    const found = declaredIn(scope, name.text);
    if (found !== undefined) return found;
  }
  return undefined;
}

function declaredIn(scope: ts.Node, name: string): Declared | undefined {
  let found: Declared | undefined;
  const visit = (node: ts.Node): void => {
    const declares =
      ts.isParameterDeclaration(node) ||
      ts.isVariableDeclaration(node) ||
      ts.isImportSpecifier(node);
    if (declares && node.name && ts.isIdentifier(node.name) && node.name.text === name)
      found = node;
    // What a scope declares itself stands in its statements, not in the blocks within them.
    const isPart =
      ts.isVariableStatement(node) ||
      ts.isVariableDeclarationList(node) ||
      ts.isImportDeclaration(node) ||
      ts.isImportClause(node) ||
      ts.isNamedImports(node);
    if (isPart) node.forEachChild(visit);
  };
  scope.forEachChild(visit);
  return found;
}

function importedFile(declared: ts.ImportSpecifier): string {
  const file = declared.getSourceFile();
  let node: ts.Node = declared;
  while (!ts.isImportDeclaration(node)) node = node.parent;
  const specifier = ts.isStringLiteral(node.moduleSpecifier) ? node.moduleSpecifier.text : "";
  const directory = path.dirname(path.relative(process.cwd(), file.fileName));
  return path.normalize(path.join(directory, specifier));
}
