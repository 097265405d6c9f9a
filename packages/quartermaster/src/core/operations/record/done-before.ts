import type { CallAnswer } from '../../../contracts/index.ts'

interface Done {
  readonly name: string
  readonly effects: readonly { readonly name: string }[]
}

/** What a caller gets whose call was done by an earlier run, of which nothing but its effects is known. */
export function doneBefore({ name, effects }: Done, operationId: string): CallAnswer {
  const names = effects.map(effect => `"${effect.name}"`).join(', ')
  const text = `"${name}" is done. A run of it was cut off; that all it leaves behind is there was verified: ${names}.`
  return { operationId, result: { content: [{ type: 'text', text }] } }
}
