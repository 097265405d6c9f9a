import { type ArrayExpression, type CallExpression, type Expression, parseSync, Visitor } from 'oxc-parser'

/** How many tests a file has, those of tables included where the table is written in the file. */
export function countTests(path: string, text: string): number {
  const { program } = parseSync(path, text)
  const lists = new Map<string, ArrayExpression>()
  const calls: CallExpression[] = []
  new Visitor({
    VariableDeclarator: ({ id, init }) => {
      const list = listOf(init)
      if (id.type === 'Identifier' && list) lists.set(id.name, list)
    },
    CallExpression: call => void calls.push(call),
  }).visit(program)
  return calls.reduce((count, call) => count + testsOf(call, lists), 0)
}

/** `it(…)`, `it.skipIf(…)(…)` and `it.each([…])(…)`. */
function testsOf({ callee }: CallExpression, lists: ReadonlyMap<string, ArrayExpression>): number {
  if (callee.type !== 'CallExpression') return isTest(callee) && !isTable(callee) ? 1 : 0
  if (!isTest(callee.callee)) return 0
  if (!isTable(callee.callee)) return 0
  const [table] = callee.arguments
  if (!table || table.type === 'SpreadElement') return 1
  const list = table.type === 'Identifier' ? lists.get(table.name) : listOf(table)
  return list?.elements.length ?? 1
}

function isTest(callee: Expression): boolean {
  if (callee.type === 'MemberExpression') return isTest(callee.object)
  return callee.type === 'Identifier' && (callee.name === 'it' || callee.name === 'test')
}

function isTable(callee: Expression): boolean {
  if (callee.type !== 'MemberExpression' || callee.computed) return false
  return callee.property.name === 'each' || callee.property.name === 'for'
}

function listOf(node: Expression | null): ArrayExpression | undefined {
  if (node?.type === 'ArrayExpression') return node
  return node?.type === 'TSAsExpression' || node?.type === 'TSSatisfiesExpression' ? listOf(node.expression) : undefined
}
