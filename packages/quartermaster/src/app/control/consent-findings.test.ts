import { expect, it } from 'vitest'
import { consentFindings } from './doctor.ts'

it('names a consent operation whose reason has characters that nobody sees', () => {
  const operations = [
    { name: 'mail.send', reason: 'Sends a mail.', weight: 'low' },
    { name: 'mail.purge', reason: 'Deletes \u202ellam\u200b', weight: 'high' },
  ] as const
  const consentOperations = new Map(operations.map(one => [one.name, { ...one, grantable: 'any' as const }]))
  expect(consentFindings({ consentOperations })).toEqual([
    {
      level: 'warning',
      what: 'The reason of the consent operation "mail.purge" has characters that cannot be seen: "Deletes \\u202ellam\\u200b"',
      fix: 'Take them out: a person decides by this text.',
    },
  ])
})
