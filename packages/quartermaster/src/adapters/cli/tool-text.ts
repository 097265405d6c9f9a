import type { ToolDetail } from '../../contracts/index.ts'
import { inWords } from './duration.ts'
import { escapeBlock, toVisibleJsonText, withoutGapsInJson } from './escape.ts'
import { exampleLine } from './example-line.ts'
import { type Look, missingBlock } from './explain.ts'
import { fields, paragraph } from './layout.ts'
import type { Frame } from './table.ts'

/** Everything about a tool, with its schemas and a line that calls it. */
export function toolText(tool: ToolDetail, frame: Frame, look: Look): string {
  const { paint } = frame
  const heading = (title: string) => `\n${paint.bold(title)}\n`
  return [
    `${paint.bold(escapeBlock(tool.name))}  ${stateText(tool, frame)}\n`,
    // Indented, so that no line of a stranger stands where ours begin.
    paragraph(tool.short, frame, '  '),
    tool.whenToUse === '' ? '' : `\n${paragraph(tool.whenToUse, frame, '  ')}`,
    ...tool.missing.map(missing => missingBlock(missing, look, frame)),
    '\n',
    facts(tool, frame),
    heading('Input'),
    schemaText(tool.input),
    ...(tool.output ? [heading('Output'), schemaText(tool.output)] : []),
    heading('Example'),
    ...(tool.examples[0]
      ? [paint.dim(paragraph(`# ${tool.examples[0].query}`, { ...frame, width: undefined }, '  '))]
      : []),
    `  ${escapeBlock(exampleLine(tool))}\n`,
  ].join('')
}

function stateText({ state, recovering }: ToolDetail, { paint }: Frame): string {
  if (recovering) return paint.yellow('recovering: a call waits for it')
  return state === 'active' ? paint.green('active') : paint.red('disabled')
}

function facts(tool: ToolDetail, frame: Frame): string {
  return fields(
    [
      ['Title', tool.title],
      ['Section', tool.section],
      ['Capability', tool.capability],
      ['Source', tool.source],
      ['Op', tool.opId],
      ['Requires', tool.requires.join(', ') || 'nothing'],
      ['Changes things', tool.mutates ? `yes${tool.idempotent ? ', and twice is the same as once' : ''}` : 'no'],
      ['Retry', tool.retry],
      ['Consent', tool.consent.join(', ') || 'none needed'],
      ['Time limit', inWords(tool.timeoutMs)],
    ],
    frame,
  )
}

function schemaText(schema: Record<string, unknown>): string {
  return `${withoutGapsInJson(toVisibleJsonText(schema, { pretty: true })).replace(/^/gm, '  ')}\n`
}
