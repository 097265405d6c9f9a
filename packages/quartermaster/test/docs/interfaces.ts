import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseSync, type TSInterfaceDeclaration, type TSSignature, Visitor } from 'oxc-parser'
import { ROOT } from './pages.ts'

/** One field of an interface, as its source says. */
export interface Member {
  readonly name: string
  readonly isOptional: boolean
  /** The type's text; of a function only its parameters: `(input, context)`. */
  readonly type: string
}

/** The fields that an interface declares itself, in order. */
export function membersOf(file: string, name: string): Member[] {
  const text = readFileSync(join(ROOT, 'packages/quartermaster/src', file), 'utf8')
  const found: TSInterfaceDeclaration[] = []
  new Visitor({
    TSInterfaceDeclaration: node => {
      if (node.id.name === name) found.push(node)
    },
  }).visit(parseSync(file, text).program)
  return (found[0]?.body.body ?? []).map(member => memberOf(member, text))
}

function memberOf(member: TSSignature, text: string): Member {
  if (
    (member.type !== 'TSPropertySignature' && member.type !== 'TSMethodSignature') ||
    member.key.type !== 'Identifier'
  )
    throw new Error(`"${text.slice(member.start, member.end)}" is no field`)
  const { name } = member.key
  if (member.type === 'TSMethodSignature') {
    const names = member.params.map(({ start, end }) => text.slice(start, end).split(':')[0])
    return { name, isOptional: member.optional, type: `(${names.join(', ')})` }
  }
  const type = member.typeAnnotation?.typeAnnotation
  return { name, isOptional: member.optional, type: plain(type ? text.slice(type.start, type.end) : '') }
}

/** Without what concerns the compiler alone. */
function plain(type: string): string {
  return type.replace(/\breadonly /g, '').replace('<Config>', '')
}
