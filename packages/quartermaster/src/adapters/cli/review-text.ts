import type { ReviewItem, UpstreamFinding } from '../../contracts/index.ts'
import { escapeHidden } from './escape.ts'
import { count } from './layout.ts'
import type { Printer } from './printer.ts'
import { wrap } from './width.ts'

/** Beyond this a person reads a file, not a terminal. More than a difference is ever long. */
const MOST_SHOWN = 10_000

const STATES = {
  new: 'It was added or put in other words after the first look, and nobody has accepted it.',
  changed: 'It is not what was accepted.',
  suspicious: 'It is held for what was found in it.',
  rejected: 'It was rejected.',
  warned: 'It is offered. Accept it to end the warning, or reject it.',
  offered: 'It is offered.',
} as const satisfies Record<ReviewItem['state'], string>

/** What waits for a person, each thing with its difference and what was found in it; nothing in it is hidden. */
export function reviewText(items: readonly ReviewItem[], printer: Printer): string {
  return items.map(item => itemText(item, printer)).join('\n')
}

/** `tool:read`, as it is written on the command line. */
export function itemName({ kind, name }: Pick<ReviewItem, 'kind' | 'name'>): string {
  return `${kind}:${oneLine(name)}`
}

/** Where a line break would let a server write lines of ours. */
function oneLine(text: string): string {
  return visible(text.replaceAll('\n', '\\n'))
}

/** Everything hidden is written in one way, also what comes written out already. */
function visible(text: string): string {
  return escapeHidden(text.replaceAll('\r\n', '\n').replace(CONTROL, inBraces))
}

const CONTROL = /(?!\n)\p{Cc}/gu

function inBraces(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`
}

/** Long enough that no server finds a second definition whose hash begins alike. */
const SHOWN_HASH = 16

/** `tool:read@3f9ac02b41d7e865`: this and no other version of it. */
export function versionName(item: ReviewItem): string {
  return `${itemName(item)}@${item.hash.slice(0, SHOWN_HASH)}`
}

function itemText(item: ReviewItem, printer: Printer): string {
  const { paint } = printer
  const head = `${paint.bold(`${item.upstream} ${versionName(item)}`)}  ${paint.yellow(item.state)}\n`
  return [
    head,
    block(STATES[item.state], '  ', printer),
    item.clash === undefined ? '' : clashText(item.clash, printer),
    ...item.findings.map(finding => findingText(finding, printer)),
    ...item.changes.map(change => changeText(change, printer)),
  ].join('')
}

/** Whoever accepts it is to know that it is not offered even so. */
function clashText(clash: string, printer: Printer): string {
  return `  ${printer.paint.yellow('!')} ${block(clash, '    ', printer).slice(4)}`
}

function findingText({ rule, strength, field, message, excerpt }: UpstreamFinding, printer: Printer): string {
  const mark = strength === 'strong' ? printer.paint.red('✗') : printer.paint.yellow('!')
  const text = block(`${message} (${rule} in ${oneLine(field)})`, '    ', printer).slice(4)
  return `  ${mark} ${text}${excerpt === '' ? '' : block(excerpt, '      ', printer)}`
}

function changeText({ field, before, after }: ReviewItem['changes'][number], printer: Printer): string {
  const { paint } = printer
  return [
    `  ${paint.bold(oneLine(field))}\n`,
    before === undefined ? '' : marked('-', before, paint.red, printer),
    after === undefined ? '' : marked('+', after, paint.green, printer),
  ].join('')
}

function marked(mark: string, text: string, style: (text: string) => string, printer: Printer): string {
  const lines = block(text, '', { ...printer, width: printer.width === undefined ? undefined : printer.width - 6 })
  return lines
    .trimEnd()
    .split('\n')
    .map(line => `    ${style(`${mark} ${line}`)}\n`)
    .join('')
}

function block(text: string, indent: string, { width }: Printer): string {
  const shown =
    text.length > MOST_SHOWN
      ? `${text.slice(0, MOST_SHOWN)}… (${count(text.length - MOST_SHOWN, 'more character')}; all of it with --json)`
      : text
  const escaped = visible(shown)
  const lines = width === undefined ? escaped.split('\n') : wrap(escaped, Math.max(20, width - indent.length))
  return `${lines.map(line => indent + line).join('\n')}\n`
}
