import type { AddedUpstream } from '../../contracts/index.ts'
import { problemBlock } from './explain.ts'
import { paragraph } from './layout.ts'
import type { Printer } from './printer.ts'
import { releasedLines } from './released-text.ts'
import { upstreamSentence } from './upstream-text.ts'

const OUTCOMES = {
  added: 'is added',
  replaced: 'is replaced',
  unchanged: 'was there already',
} as const satisfies Record<AddedUpstream['outcome'], string>

/** What became of an upstream that was added, and what to know about it. */
export function addedText(added: AddedUpstream, notes: readonly string[], printer: Printer): string {
  const { name, outcome, status, granted, secrets, problems, file } = added
  const isFine = status?.state === 'up' || status?.state === 'idle'
  const mark = isFine ? printer.paint.green('✓') : printer.paint.yellow('!')
  const how = status ? `; ${upstreamSentence(status)}` : ''
  const lines = [
    granted.length > 0
      ? `Given to: ${granted.join(', ')}.`
      : `Given to nobody. Give it: quartermaster grant AGENT ${name}`,
    secrets.length > 0 ? `Kept in the secrets file: ${secrets.join(', ')}.` : '',
    ...releasedLines(added),
    ...notes,
  ]
  const wide = { ...printer, width: undefined }
  return [
    `${mark} ${paragraph(`"${name}" ${OUTCOMES[outcome]}${how}. (${file})`, wide)}`,
    ...lines.filter(line => line !== '').map(line => paragraph(line, wide, '  ')),
    ...problems.map(problem => problemBlock(problem, printer)),
  ].join('')
}
