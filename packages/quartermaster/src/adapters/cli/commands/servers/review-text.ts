import type { Control, ReviewItem, UpstreamFinding } from '../../../../contracts/index.ts'
import { count, unwrapped, wrap } from '../../output/layout.ts'
import type { Printer } from '../../output/terminal.ts'
import { escapeHidden, escapeLine } from '../../output/terminal.ts'
import type { Session } from '../../session.ts'

/** A person reads longer texts in a file. No difference is longer. */
const MOST_SHOWN = 10_000

const STATES = {
  new: 'It was added or reworded after the first look, and has not been accepted.',
  changed: 'It is not what was accepted.',
  suspicious: 'It is held for what was found in it.',
  rejected: 'It was rejected.',
  warned: 'It is offered. Accept it to end the warning, or reject it.',
  offered: 'It is offered.',
} as const satisfies Record<ReviewItem['state'], string>

/** The items of a review, each with its difference and findings, with invisible characters as escapes. */
export function reviewText(items: readonly ReviewItem[], printer: Printer): string {
  return items.map(item => itemText(item, printer)).join('\n')
}

/** `tool:read`, as it is written on the command line. */
export function itemName({ kind, name }: Pick<ReviewItem, 'kind' | 'name'>): string {
  return `${kind}:${oneLine(name)}`
}

/** Escapes line breaks too, so that a server cannot imitate lines of ours. */
function oneLine(text: string): string {
  return visible(text.replaceAll('\n', '\\n'))
}

/** Writes all hidden characters as the same kind of escape. */
function visible(text: string): string {
  return escapeHidden(text.replaceAll('\r\n', '\n').replace(CONTROL, toEscape))
}

const CONTROL = /(?!\n)\p{Cc}/gu
const toEscape = (character: string) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`

/** So long that no server can find a second definition whose hash begins with the same characters. */
const SHOWN_HASH = 16

/** `tool:read@3f9ac02b41d7e865`: names one version. */
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

/** An item whose name is taken is not offered even when it is accepted. */
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

/** A definition of an earlier server that is held or warned of since other servers were added. */
export type Rejudged = Pick<ReviewItem, 'upstream' | 'kind' | 'name' | 'state'>

/**
 * Reads the review before servers are added. The answered function reads it again, and answers the definitions of other servers
 * that are held or warned of since then, because the tools of all servers are judged together.
 */
export async function watchReview(
  session: Session,
  control: Pick<Control, 'upstreams' | 'reviewItems'>,
): Promise<(added: readonly string[]) => Promise<Rejudged[]>> {
  // The person who adds a server gets that answer even when the review cannot be read.
  const tryRead = <T>(read: () => Promise<T>, otherwise: T) => session.attend('Looking', read).catch(() => otherwise)
  const statuses = await tryRead(() => control.upstreams({}), [])
  // Items that appear with the first connection of a server were not caused by the servers added now.
  const seen = new Set(statuses.filter(({ unseen }) => unseen === undefined).map(({ name }) => name))
  const before = seen.size === 0 ? undefined : await tryRead(() => control.reviewItems({}), undefined)
  if (!before) return async () => []
  const states = new Map(before.map(item => [keyOf(item), item.state]))
  return async added => {
    const items = await tryRead(() => control.reviewItems({}), [])
    return items
      .filter(({ upstream }) => seen.has(upstream) && !added.includes(upstream))
      .filter(item => isWorse(item.state, states.get(keyOf(item))))
      .map(({ upstream, kind, name, state }) => ({ upstream, kind, name, state }))
  }
}

/** Other servers can only add findings, so only these two states count. */
function isWorse(now: ReviewItem['state'], before: ReviewItem['state'] = 'offered'): boolean {
  return (
    (now === 'suspicious' && (before === 'offered' || before === 'warned')) ||
    (now === 'warned' && before === 'offered')
  )
}

function keyOf({ upstream, kind, name }: ReviewItem): string {
  return `${upstream} ${kind} ${name}`
}

/** A line for each server that `watchReview` found. */
export function rejudgedText(rejudged: readonly Rejudged[], printer: Printer): string {
  const upstreams = [...new Set(rejudged.map(({ upstream }) => upstream))]
  const namesOf = (upstream: string, state: Rejudged['state']) => {
    const items = rejudged.filter(one => one.upstream === upstream && one.state === state)
    const more = items.length - MOST_NAMED
    return `${items.slice(0, MOST_NAMED).map(itemName).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
  }
  const lines = upstreams.map(name => {
    const [held, warned] = [namesOf(name, 'suspicious'), namesOf(name, 'warned')]
    const parts = [
      held === '' ? '' : `held for review from now on: ${held}`,
      warned === '' ? '' : `warned of from now on: ${warned}`,
    ]
    const what = parts.filter(part => part !== '').join('; ')
    return `${name}, which was there before: ${what} (quartermaster upstreams review ${name})`
  })
  return lines.map(line => `${printer.paint.yellow('!')} ${unwrapped(escapeLine(line))}`).join('')
}

/** The review shows them all. */
const MOST_NAMED = 5
