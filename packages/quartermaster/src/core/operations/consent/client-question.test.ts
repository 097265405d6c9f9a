import { expect, it } from 'vitest'
import { clientQuestion } from './consent-decision.ts'

it('shows a person in front of a client what a terminal shows but where it leads: all spaces, and nothing hidden', () => {
  const ask = {
    operation: 'files.write',
    reason: 'Writes a file.\u001b[2J\nArguments: none \u202e.',
    weight: 'moderate',
    scope: 'a\u202e b.txt',
    grantable: 'any',
  } as const
  const input = { path: 'a\u202e b.txt', text: 'one \n\ttwo\u200b' }
  const asks = [ask, { ...ask, reason: 'R.', scope: null }]
  expect(clientQuestion({ operationId: 'op_1', tool: 'write_file', asks, input }).message).toBe(
    [
      'Allow "write_file" this once?',
      'files.write (moderate): Writes a file.\\x1b[2J Arguments: none \\u{202e}.',
      'files.write (moderate): R.',
      'Arguments, exactly (· is a space, escapes are characters that cannot be seen):',
      '  {',
      '    "path": "a\\u202e·b.txt",',
      '    "text": "one·\\n',
      '    │ \\ttwo\\u200b"',
      '  }',
    ].join('\n'),
  )
})
