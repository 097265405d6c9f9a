import { type Argument, type CallExpression, type Expression, parseSync, Visitor } from 'oxc-parser'

/** What one source file imports, in whichever way, and what would keep a tool from seeing it. */
export interface Imports {
  readonly specifiers: readonly string[]
  /** Whether it loads a module whose name is only known when it runs. */
  readonly computed: boolean
  /** Comments that would keep a tool from looking: `oxlint-disable-next-line`, `@ts-ignore`. */
  readonly waivers: readonly string[]
  readonly errors: readonly string[]
}

const WAIVER = /^[\s*]*((?:oxlint|eslint)-disable[\w-]*|biome-ignore[\w-]*|@ts-(?:ignore|nocheck|expect-error))/

/**
 * Reads the imports from the parsed source, so neither a comment nor a way of writing hides one: static and dynamic,
 * of values and of types, passed on by `export … from`, `require` and `import()` in a type included.
 */
export function importsOf(path: string, text: string): Imports {
  const { program, comments, errors } = parseSync(path, text)
  const specifiers = new Set<string>()
  let computed = false
  const add = (source: Expression | Argument | undefined) => {
    const specifier = literalOf(source)
    if (specifier === undefined) computed = true
    else specifiers.add(specifier)
  }
  new Visitor({
    ImportDeclaration: node => add(node.source),
    ExportAllDeclaration: node => add(node.source),
    ExportNamedDeclaration: node => node.source && add(node.source),
    ImportExpression: node => add(node.source),
    TSImportType: node => add(node.source),
    TSExternalModuleReference: node => add(node.expression),
    CallExpression: node => isLoader(node) && add(node.arguments[0]),
  }).visit(program)
  const waivers = comments.flatMap(comment => WAIVER.exec(comment.value)?.[1] ?? [])
  return { specifiers: [...specifiers], computed, waivers, errors: errors.map(error => error.message) }
}

/** The text of a string, also of one in backticks that has nothing to fill in. */
function literalOf(node: Expression | Argument | undefined): string | undefined {
  if (node?.type === 'Literal' && typeof node.value === 'string') return node.value
  if (node?.type === 'TemplateLiteral' && node.expressions.length === 0)
    return node.quasis[0]?.value.cooked ?? undefined
  if (node?.type === 'ParenthesizedExpression') return literalOf(node.expression)
  return undefined
}

/** `require(…)`, and `process.getBuiltinModule(…)`, which needs no import at all. */
function isLoader({ callee }: CallExpression): boolean {
  if (callee.type === 'Identifier') return callee.name === 'require'
  return callee.type === 'MemberExpression' && !callee.computed && callee.property.name === 'getBuiltinModule'
}
