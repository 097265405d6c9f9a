import { isRecord, type Node, Unmappable } from './node.ts'

/** Follows the references of a document, which lead nowhere else. */
export interface References {
  /** The object itself, where a reference stands. */
  follow(value: unknown): Node
}

/** A chain of references that is longer leads in a circle. */
const LONGEST_CHAIN = 50

export function createReferences(root: Node): References {
  const known = new Map<string, unknown>()
  const targetOf = (reference: string) => {
    const target = known.get(reference) ?? found(root, reference)
    known.set(reference, target)
    return target
  }
  return {
    follow(value) {
      let node = value
      for (let steps = 0; isRecord(node) && typeof node.$ref === 'string'; steps++) {
        if (steps > LONGEST_CHAIN) throw new Unmappable(`The reference "${node.$ref}" leads in a circle.`)
        node = targetOf(node.$ref)
      }
      return isRecord(node) ? node : {}
    },
  }
}

function found(root: Node, reference: string): unknown {
  if (!reference.startsWith('#/'))
    throw new Unmappable(`It refers to "${reference}" in another document; put all into one first.`)
  let node: unknown = root
  for (const step of reference.slice(2).split('/')) {
    const name = decode(step)
    node = (isRecord(node) || Array.isArray(node)) && Object.hasOwn(node, name) ? (node as Node)[name] : undefined
  }
  if (node === undefined) throw new Unmappable(`The reference "${reference}" leads nowhere.`)
  return node
}

function decode(step: string): string {
  let text = step
  try {
    text = decodeURIComponent(step)
  } catch {
    // Then it is meant as it is written.
  }
  return text.replaceAll('~1', '/').replaceAll('~0', '~')
}
