import type { AddedUpstream } from '../../contracts/index.ts'
import { escapeLine } from './escape.ts'
import { problemBlock } from './explain.ts'
import { givenLine } from './given-text.ts'
import { keptLines } from './kept-text.ts'
import { paragraph } from './layout.ts'
import { releasedLines } from './released-text.ts'
import type { Session } from './session.ts'
import { asksText } from './upstream-consent.ts'
import { askedBy, upstreamSentence } from './upstream-text.ts'

const OUTCOMES = {
  added: 'is added',
  replaced: 'is replaced',
  unchanged: 'was there already',
} as const satisfies Record<AddedUpstream['outcome'], string>

/** What became of an upstream that was added, and what to know about it. */
export function addedText(
  added: AddedUpstream,
  notes: readonly string[],
  session: Pick<Session, 'out' | 'from' | 'host'>,
): string {
  const { out: printer } = session
  const { name, outcome, status, secrets, problems, file } = added
  const isFine = (status?.state === 'up' || status?.state === 'idle') && status.unlisted === undefined
  const mark = isFine ? printer.paint.green('✓') : printer.paint.yellow('!')
  const how = status ? `; ${upstreamSentence(status, askedBy(session))}` : ''
  const lines = [
    givenLine(name, added),
    escapeLine(asksText(status)),
    secrets.length > 0 ? `Kept in the secrets file: ${secrets.join(', ')}.` : '',
    ...releasedLines(added),
    ...keptLines(added),
    ...notes,
  ]
  const wide = { ...printer, width: undefined }
  return [
    `${mark} ${paragraph(`"${name}" ${OUTCOMES[outcome]}${how}. (${file})`, wide)}`,
    ...lines.filter(line => line !== '').map(line => paragraph(line, wide, '  ')),
    ...problems.map(problem => problemBlock(problem, printer)),
  ].join('')
}
