import { expect, it } from 'vitest'
import { createMentions } from './mentions.ts'

it('lets others have their turn between strings, also where none of them is a sentence', () => {
  const values = Array.from({ length: 500 }, (_, i) => `${'before_to_'.repeat(24)}${i}`)
  const definition = { name: 'pick', inputSchema: { properties: { a: { enum: values } } } }
  const mention = { id: '1', kind: 'tool', name: 'pick', hash: 'h', value: () => definition } as const
  const steps = [...createMentions().note([mention], new Set(['tool']))]
  expect(steps.length).toBeGreaterThan(values.length)
})
