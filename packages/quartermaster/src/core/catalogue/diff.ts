import type { Generation } from './generation.ts'

export interface GenerationDiff {
  readonly added: string[]
  readonly changed: string[]
  readonly removed: string[]
}

/**
 * What differs between two generations, as addresses: `tool:weather`, `prompt:review`, `resource:docs://handbook`,
 * `capability:files`, `dependency:mail`, `op:op.notes.append`, `unit:handbook/refunds`.
 */
export function diffGenerations(before: Generation, after: Generation): GenerationDiff {
  const diff: GenerationDiff = { added: [], changed: [], removed: [] }
  compare('tool', before.tools, after.tools, diff)
  compare('prompt', before.prompts, after.prompts, diff)
  compare('resource', before.resources, after.resources, diff)
  compare('capability', before.capabilities, after.capabilities, diff)
  compare('dependency', before.dependencies, after.dependencies, diff)
  compare('op', before.ops, after.ops, diff)
  compare('unit', before.knowledge, after.knowledge, diff)
  return diff
}

type Hashed = ReadonlyMap<string, { readonly hash: string }>

function compare(kind: string, before: Hashed, after: Hashed, diff: GenerationDiff): void {
  for (const [name, item] of after) {
    const old = before.get(name)
    if (!old) diff.added.push(`${kind}:${name}`)
    else if (old !== item && old.hash !== item.hash) diff.changed.push(`${kind}:${name}`)
  }
  for (const name of before.keys()) if (!after.has(name)) diff.removed.push(`${kind}:${name}`)
}
