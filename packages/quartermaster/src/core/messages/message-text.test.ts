import { expect, it } from 'vitest'
import { messageText } from './index.ts'

const file = { id: 'att_1', name: 'plan.pdf', mediaType: 'application/pdf', size: 1 }

it.each([
  ['its text', { text: 'Hello' }, 'Hello'],
  [
    'all words, then all data',
    {
      text: 'First',
      parts: [
        { kind: 'data' as const, data: { a: 1 } },
        { kind: 'text' as const, text: 'Second' },
        { kind: 'text' as const, text: 'Third' },
      ],
    },
    'First\n\nSecond\n\nThird\n\n{"a":1}',
  ],
  ['its data, when it has no words', { text: ' ', parts: [{ kind: 'data' as const, data: [1, null] }] }, '[1,null]'],
  ['what it is about, when it says nothing', { parts: [], summary: 'A task has ended' }, 'A task has ended'],
  ['what is attached, when there is nothing else', { attachments: [file] }, '(no text; attached: plan.pdf)'],
  ['never nothing', { text: '\n' }, '(no text)'],
])('a message says %s', (_what, content, text) => {
  expect(messageText(content)).toBe(text)
})
